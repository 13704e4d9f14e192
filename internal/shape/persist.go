package shape

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/host/advise"
)

// Keeper is what sets the limit again after a boot.
type Keeper string

// Keepers, in the order of preference: first what runs the link, then what runs the host.
const (
	Networkd       Keeper = "networkd"
	NetworkManager Keeper = "NetworkManager"
	Systemd        Keeper = "systemd"
)

// Boot is what is known of the services that run a host, from files only.
type Boot struct {
	// NetworkFile is the .network file that networkd applies to the link, NetworkText its
	// text; "" if networkd does not run the link.
	NetworkFile, NetworkText string
	// SystemdVersion is 0 if unknown.
	SystemdVersion int
	// Keyfile is that of the link's NetworkManager connection, "" without one.
	Keyfile, KeyText string
	Init             string // the first process: "systemd", "none", or another's name
}

// Kept is a file that keeps the limit, whole.
type Kept struct {
	Path, Text string
	Mode       uint32 // permission bits of a new file
}

// Persistence is how a limit is kept.
type Persistence struct {
	Keeper Keeper
	Files  []Kept
	Notes  []string
}

// tbfSince is the first systemd whose networkd knows [TokenBucketFilter] with sizes in bytes.
const tbfSince = 246

// Persist plans how a limit outlives a boot. command sets it: congctl's own command line,
// for keepers that cannot make a token bucket themselves.
func Persist(link string, t Target, b Boot, command []string) (p Persistence, err error) {
	b.KeyText = oursInKeyfile.ReplaceAllString(b.KeyText, "\n")
	plain := t.Inner == "" && t.Ingress == nil && !t.OffloadsOff
	switch {
	case b.Init != "systemd":
		return p, fmt.Errorf("keep the limit of %s: %s; run this at each boot: %s", link, advise.OnlySystemd(b.Init), shell(command))
	case plain && b.NetworkFile != "" && b.SystemdVersion >= tbfSince && onlyFor(b.NetworkText, "Match", "Name", link):
		return networkd(t, b), nil
	case plain && b.Keyfile != "" && onlyFor(b.KeyText, "connection", "interface-name", link) && !strings.Contains(b.KeyText, "[tc]"):
		return keyfile(t, b), nil
	}
	p = systemd(link, command)
	switch {
	case b.NetworkFile != "" && !plain:
		p.note("networkd manages %s but cannot set all of this, so a unit sets the limit", link)
	case b.NetworkFile != "" && b.SystemdVersion < tbfSince:
		p.note("networkd manages %s but supports token buckets only since systemd %d, so a unit sets the limit", link, tbfSince)
	case b.NetworkFile != "":
		p.note("%s does not apply to %s alone, and a drop-in would limit the other interfaces too, so a unit sets the limit", b.NetworkFile, link)
	}
	return p, nil
}

func (p *Persistence) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// onlyFor reports whether a section of an ini file names this link and no other.
func onlyFor(text, section, key, link string) bool {
	in, found := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			in = line == "["+section+"]"
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		if !in || !ok || strings.TrimSpace(k) != key {
			continue
		}
		if strings.TrimSpace(v) != link {
			return false
		}
		found = true
	}
	return found
}

// networkd takes a rate with k of 1000 and sizes with K of 1024: plain numbers mean the same
// to everybody.
func networkd(t Target, b Boot) Persistence {
	text := written + fmt.Sprintf(`# %s; burst and queue in bytes.
[TokenBucketFilter]
Parent=root
Handle=%x
Rate=%d
BurstBytes=%d
LimitBytes=%d
`, t.Tbf.Rate.Words(), Handle, t.Tbf.Rate, t.Tbf.Burst, t.Tbf.Limit)
	return Persistence{Keeper: Networkd, Files: []Kept{{dropIn(b), text, 0o644}}}
}

func dropIn(b Boot) string {
	return path.Join("/etc/systemd/network", path.Base(b.NetworkFile)+".d", "90-congctl-shape.conf")
}

// keyfile: NetworkManager counts in bytes per second and bytes, as the kernel does.
func keyfile(t Target, b Boot) Persistence {
	text := strings.TrimRight(b.KeyText, "\n") + fmt.Sprintf("\n\n[tc]\nqdisc.root=handle %x: tbf rate %d burst %d limit %d\n",
		Handle, t.Tbf.Rate.BytesPerS(), t.Tbf.Burst, t.Tbf.Limit)
	return Persistence{Keeper: NetworkManager, Files: []Kept{{b.Keyfile, text, 0o600}}}
}

// systemd starts the unit whenever the device appears, at boot and when it is plugged in
// again.
func systemd(link string, command []string) Persistence {
	unit, wants := units(link)
	device := path.Base(strings.TrimSuffix(path.Dir(wants), ".d"))
	text := written + fmt.Sprintf(`[Unit]
Description=limit what %s sends
BindsTo=%s
After=%s

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=%s
`, link, device, device, strings.ReplaceAll(strings.Join(command, " "), "%", "%%"))
	return Persistence{Keeper: Systemd, Files: []Kept{
		{unit, text, 0o644},
		{wants, written + "[Unit]\nWants=" + path.Base(unit) + "\n", 0o644},
	}}
}

// units returns the paths of the unit and of the link that makes the device want it.
func units(link string) (unit, wants string) {
	const dir = "/etc/systemd/system/"
	return dir + "congctl-shape-" + escape(link) + ".service",
		dir + "sys-subsystem-net-devices-" + escape(link) + ".device.d/congctl-shape.conf"
}

// escape does what systemd-escape does.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == ':', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// oursInKeyfile matches what an earlier limit put there.
var oursInKeyfile = regexp.MustCompile(fmt.Sprintf(`\n+\[tc\]\nqdisc\.root=handle %x: tbf [^\n]*\n`, Handle))

func shell(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = change.Quoted(w)
	}
	return strings.Join(quoted, " ")
}

// Command returns the command line that sets a target without asking, journalling or
// keeping it again: what a boot runs.
func Command(program, link string, t Target) []string {
	words := []string{program, "shape", "set", link, t.Tbf.Rate.String(), "--burst", t.Tbf.Burst.String(), "--queue", t.Tbf.Limit.String()}
	if t.Inner != "" {
		words = append(words, "--inner", t.Inner)
	}
	if t.Ingress != nil {
		words = append(words, "--ingress", t.Ingress.Rate.String())
	}
	return append(words, "--replace", "--at-boot")
}

// written begins every file that is wholly ours.
const written = "# Written by congctl shape set; congctl shape clear removes it.\n"

// Keeping lists the files that may keep an earlier limit of a link, for all keepers:
// another service may run the link now.
func Keeping(link string, b Boot) (paths []string) {
	if b.NetworkFile != "" {
		paths = append(paths, dropIn(b))
	}
	if b.Keyfile != "" {
		paths = append(paths, b.Keyfile)
	}
	unit, wants := units(link)
	return append(paths, unit, wants)
}

// Without returns a file without the lines that keep a limit, and whether anything is left. A
// file with nothing of ours comes back unchanged.
func Without(text string) (rest string, there bool) {
	if strings.HasPrefix(text, written) {
		return "", false
	}
	return oursInKeyfile.ReplaceAllString(text, "\n"), true
}

// Alone reports whether a directory exists only for our file in it.
func Alone(dir string) bool {
	ext := path.Ext(strings.TrimSuffix(dir, ".d"))
	return strings.HasSuffix(dir, ".d") && (ext == ".device" || ext == ".network")
}

// readers hold limits in memory by files, each with the command that makes it read them
// again.
var readers = []struct {
	dir     string
	keeper  Keeper
	command string
}{
	{"/etc/systemd/network/", Networkd, "networkctl reload"},
	{"/etc/NetworkManager/", NetworkManager, "nmcli connection reload"},
	{"/etc/systemd/system/", Systemd, "systemctl daemon-reload"},
}

// Reread names the services that still go by the old text of files that steps write or
// delete, and the command that ends that; otherwise their next start does.
func Reread(steps []change.Step) []string {
	notes := []string{}
	for _, r := range readers {
		if slices.ContainsFunc(steps, func(s change.Step) bool { return s.Kind == change.File && strings.HasPrefix(s.Target, r.dir) }) {
			notes = append(notes, fmt.Sprintf("%s uses its old files until it restarts; to reread them now: sudo %s", r.keeper, r.command))
		}
	}
	return notes
}
