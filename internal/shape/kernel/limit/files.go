package shape

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/core/advise"
	"github.com/congctl/congctl/internal/core/shaping"
	carry "github.com/congctl/congctl/internal/kernel/change"
	"github.com/congctl/congctl/internal/kernel/host"
)

// readBoot finds out who runs a host and a link, from files only: a verb must not start
// programs of the host to learn what they would do.
func readBoot(root string, disk carry.Disk, l shaping.Link) (b shaping.Boot, err error) {
	f := files{disk: disk}
	init, script, anyMode := host.Host{Files: host.Tree(root)}.Boot()
	b.Systemd, b.OpenRC, b.Local = init == "systemd", init == "openrc", script == advise.LocalStart
	b.SystemdVersion = f.systemdVersion()
	state := f.text(fmt.Sprintf("/run/systemd/netif/links/%d", l.Index))
	if b.NetworkFile = valueOf(state, "NETWORK_FILE"); b.NetworkFile != "" {
		b.NetworkText = f.text(b.NetworkFile)
	}
	if uuid := valueOf(f.text(fmt.Sprintf("/run/NetworkManager/devices/%d", l.Index)), "connection-uuid"); uuid != "" {
		f.findKeyfile(&b, uuid)
	}
	if script == advise.RCLocal {
		f.findRCLocal(&b, anyMode)
	}
	if b.OpenRC && script == "" {
		services := f.names("/etc/init.d")
		b.RCService = slices.Contains(services, "rc.local") && !slices.Contains(services, "local")
	}
	return b, f.err
}

// findRCLocal follows Red Hat's link, as only a plain file can be written.
func (f *files) findRCLocal(b *shaping.Boot, anyMode bool) {
	b.RCLocal = advise.RCLocal
	v, err := f.disk.Read(b.RCLocal)
	if other, lost := f.disk.Read("/etc/rc.d/rc.local"); lost == nil && other.Present && (err != nil || !v.Present) {
		b.RCLocal, v = "/etc/rc.d/rc.local", other
	}
	b.RCText, b.RCIdle = v.Text, v.Present && v.Mode&0o111 == 0 && !anyMode
}

// files reads many and remembers what it was not allowed to. What is no plain file, or
// has gone meanwhile, tells nothing.
type files struct {
	disk carry.Disk
	err  error
}

func (f *files) text(p string) string {
	v, err := f.disk.Read(p)
	if errors.Is(err, fs.ErrPermission) && f.err == nil {
		f.err = fmt.Errorf("find out who runs the link: %w", err)
	}
	return v.Text
}

func (f *files) names(dir string) []string {
	names, err := f.disk.List(dir)
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("find out who runs the host: %w", err)
	}
	return names
}

const keyfiles = "/etc/NetworkManager/system-connections"

func (f *files) findKeyfile(b *shaping.Boot, uuid string) {
	for _, n := range f.names(keyfiles) {
		p := path.Join(keyfiles, n)
		if text := f.text(p); valueOf(text, "uuid") == uuid {
			b.Keyfile, b.KeyText = p, text
			return
		}
	}
}

// valueOf finds KEY=VALUE on a line of its own, the first one.
func valueOf(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok && k == key {
			return v
		}
	}
	return ""
}

// libsystemd tells systemd's version by its name, which is shorter than to ask systemctl.
var libsystemd = regexp.MustCompile(`^libsystemd-shared-([0-9]+)[.~-].*so$|^libsystemd-shared-([0-9]+)\.so$`)

func (f *files) systemdVersion() int {
	dirs := []string{"/usr/lib/systemd", "/lib/systemd", "/usr/lib64/systemd"}
	for _, n := range f.names("/usr/lib") {
		if strings.HasSuffix(n, "-linux-gnu") {
			dirs = append(dirs, path.Join("/usr/lib", n, "systemd"))
		}
	}
	for _, dir := range dirs {
		for _, n := range f.names(dir) {
			if m := libsystemd.FindStringSubmatch(n); m != nil {
				v, err := strconv.Atoi(m[1] + m[2])
				if err == nil {
					return v
				}
			}
		}
	}
	return 0
}
