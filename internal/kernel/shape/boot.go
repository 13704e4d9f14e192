package shape

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/core/shaping"
	carry "github.com/congctl/congctl/internal/kernel/change"
)

// readBoot finds out who runs a host and a link, from files only: a verb must not start
// programs of the host to learn what they would do.
func readBoot(disk carry.Disk, l shaping.Link) (b shaping.Boot, err error) {
	f := files{disk: disk}
	b.Systemd = f.has("/run/systemd/system")
	b.OpenRC = f.has("/run/openrc") || f.has("/sbin/openrc")
	b.LocalEnabled = f.lists("/etc/runlevels/default", "local")
	b.SystemdVersion = f.systemdVersion()
	state := f.text(fmt.Sprintf("/run/systemd/netif/links/%d", l.Index))
	if b.NetworkFile = valueOf(state, "NETWORK_FILE"); b.NetworkFile != "" {
		b.NetworkText = f.text(b.NetworkFile)
	}
	if uuid := valueOf(f.text(fmt.Sprintf("/run/NetworkManager/devices/%d", l.Index)), "connection-uuid"); uuid != "" {
		f.findKeyfile(&b, uuid)
	}
	for _, p := range []string{"/etc/rc.local", "/etc/rc.d/rc.local"} {
		if b.RCLocal == "" && f.plain(p) {
			b.RCLocal, b.RCText = p, f.text(p)
		}
	}
	return b, f.err
}

// files reads many and remembers what it was not allowed to. What is no plain file, or
// has gone meanwhile, tells nothing.
type files struct {
	disk carry.Disk
	err  error
}

func (f *files) has(p string) bool {
	v, err := f.disk.Read(p)
	if err != nil {
		return true // a link or a device is there, too
	}
	return v.Present
}

func (f *files) text(p string) string {
	v, err := f.disk.Read(p)
	if errors.Is(err, fs.ErrPermission) && f.err == nil {
		f.err = fmt.Errorf("find out who runs the link: %w", err)
	}
	return v.Text
}

// plain tells whether there is a file that could be written: on Red Hat /etc/rc.local is
// a link to the one in rc.d.
func (f *files) plain(p string) bool {
	v, err := f.disk.Read(p)
	return err == nil && v.Present
}

func (f *files) names(dir string) []string {
	names, err := f.disk.List(dir)
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("find out who runs the host: %w", err)
	}
	return names
}

func (f *files) lists(dir, name string) bool {
	for _, n := range f.names(dir) {
		if n == name {
			return true
		}
	}
	return false
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
