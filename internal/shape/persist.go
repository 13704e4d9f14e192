package shaping

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/congctl/congctl/internal/core/advise"
	"github.com/congctl/congctl/internal/core/change"
)

// Keeper is what sets the limit again after a boot.
type Keeper string

// Keepers, in the order of preference: first who runs the link, then who runs the host.
const (
	Networkd       Keeper = "networkd"
	NetworkManager Keeper = "NetworkManager"
	Systemd        Keeper = "systemd"
	OpenRC         Keeper = "OpenRC"
	RCLocal        Keeper = "rc.local"
)

// Boot is what is known of who runs a host, from files only.
type Boot struct {
	// NetworkFile is the .network file that networkd applies to the link, NetworkText what
	// stands in it; "" where networkd does not run the link.
	NetworkFile, NetworkText string
	// SystemdVersion is 0 where it is not known.
	SystemdVersion int
	// Keyfile is that of the NetworkManager connection that the link has, "" where there is none.
	Keyfile, KeyText string
	Systemd          bool   // is the first process
	OpenRC           bool   // runs the services
	Local            bool   // OpenRC's service local runs what is in /etc/local.d
	RCService        bool   // OpenRC has rc.local, as Debian's, in the place of local
	RCLocal          string // path of what the init runs at the end of a boot, "" where it runs none
	RCText           string // "" where the file is not there
	RCIdle           bool   // the file is there, and is not run as it may not be
}

// Kept is a file that keeps the limit, whole.
type Kept struct {
	Path, Text string
	Mode       uint32 // permission bits of a file that is new
}

// Persistence is how a limit is kept.
type Persistence struct {
	Keeper Keeper
	Files  []Kept
	Notes  []string
}

// tbfSince is the systemd whose networkd knows [TokenBucketFilter] with sizes in bytes.
const tbfSince = 246

// Persist plans how a limit outlives a boot. command sets it: the words of congctl's own
// command line, for keepers that cannot make a token bucket themselves.
func Persist(link string, t Target, b Boot, command []string) (p Persistence, err error) {
	b.KeyText = oursInKeyfile.ReplaceAllString(b.KeyText, "\n")
	plain := t.Inner == "" && t.Ingress == nil && !t.OffloadsOff
	switch {
	case plain && b.NetworkFile != "" && b.SystemdVersion >= tbfSince && onlyFor(b.NetworkText, "Match", "Name", link):
		return networkd(t, b), nil
	case plain && b.Keyfile != "" && onlyFor(b.KeyText, "connection", "interface-name", link) && !strings.Contains(b.KeyText, "[tc]"):
		return keyfile(t, b), nil
	case b.Systemd:
		p = systemd(link, command)
	case b.RCLocal != "" && !b.Local && b.RCIdle:
		return p, fmt.Errorf("keep the limit of %s: %s is not executable, so no boot runs it: chmod +x %s", link, b.RCLocal, b.RCLocal)
	case b.RCLocal != "" && !b.Local:
		return rcLocal(link, b, command), nil
	case b.OpenRC && !b.Local:
		return p, serviceOff(link, b)
	case b.OpenRC:
		return openRC(link, command), nil
	default:
		return p, fmt.Errorf("keep the limit of %s: found neither systemd, OpenRC nor an init that runs rc.local; run this at boot by what your host has: %s", link, shell(command))
	}
	switch {
	case b.NetworkFile != "" && !plain:
		p.note("networkd runs %s, and cannot do all of this: a unit does", link)
	case b.NetworkFile != "" && b.SystemdVersion < tbfSince:
		p.note("networkd runs %s, and knows token buckets since systemd %d: a unit does it", link, tbfSince)
	case b.NetworkFile != "":
		p.note("%s is not for %s alone, a drop-in would limit the others too: a unit does it", b.NetworkFile, link)
	}
	return p, nil
}

func (p *Persistence) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// onlyFor tells whether a section of an ini file names this link and no other.
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

// networkd takes a rate with k of 1000 and sizes with K of 1024: plain numbers mean the
// same to everybody.
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

// keyfile: NetworkManager counts in bytes per second and bytes, as the kernel.
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

// units are the paths of the unit and of what has the link's device want it.
func units(link string) (unit, wants string) {
	const dir = "/etc/systemd/system/"
	return dir + "congctl-shape-" + escape(link) + ".service",
		dir + "sys-subsystem-net-devices-" + escape(link) + ".device.d/congctl-shape.conf"
}

// escape is systemd-escape.
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

const shebang = "#!/bin/sh\n"

func localStart(link string) string { return "/etc/local.d/congctl-shape-" + link + ".start" }

func openRC(link string, command []string) Persistence {
	return Persistence{Keeper: OpenRC, Files: []Kept{{localStart(link), shebang + written + "exec " + shell(command) + "\n", 0o755}}}
}

// serviceOff: a script that no boot reaches keeps no limit.
func serviceOff(link string, b Boot) error {
	service, runs := "local", path.Dir(localStart(link))
	if b.RCService {
		service, runs = "rc.local", advise.RCLocal
	}
	return fmt.Errorf("keep the limit of %s: OpenRC's service %s, which runs %s, is off, so no boot would set it: rc-update add %s default", link, service, runs, service)
}

// oursInKeyfile is what an earlier limit put there.
var oursInKeyfile = regexp.MustCompile(fmt.Sprintf(`\n+\[tc\]\nqdisc\.root=handle %x: tbf [^\n]*\n`, Handle))

// lineMark stands above our line in rc.local.
func lineMark(link string) string { return "# congctl shape " + link + "\n" }

func withoutLine(link, text string) string {
	before, after, ok := strings.Cut(text, lineMark(link))
	if !ok {
		return text
	}
	line, rest, _ := strings.Cut(after, "\n")
	if strings.Contains(line, " shape set "+change.Quoted(link)+" ") {
		after = rest // any other line is somebody's, who took ours away and left the mark
	}
	return before + after
}

// rcLocal puts a line before the end of rc.local, which is often an exit, and takes that
// of an earlier limit away.
func rcLocal(link string, b Boot, command []string) Persistence {
	head := strings.TrimRight(withoutLine(link, b.RCText), "\n") + "\n"
	if head == "\n" {
		head = shebang
	}
	head, tail := advise.BeforeEnd(head)
	text := head + lineMark(link) + shell(command) + "\n" + tail
	return Persistence{Keeper: RCLocal, Files: []Kept{{b.RCLocal, text, 0o755}}}
}

func shell(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = change.Quoted(w)
	}
	return strings.Join(quoted, " ")
}

// Command is the words that set a target without asking, journalling or keeping it
// again: what a boot runs.
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
