package inspect

import (
	"path"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/host/advise"
)

// place is where a host keeps texts that a boot, or something soon after it, reads or runs: a file,
// or directories of which the first that has a name hides it in the others.
type place struct {
	paths  []string
	suffix string   // of the names that count, "" for all
	script bool     // of sysvinit, which systemd starts too: those whose names begin with S and a number
	within []string // a file counts only if its text has one of these
}

// unitDirs are systemd's, the strongest first.
var unitDirs = []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}

// places are all but those whose readers advise has. What names a setting there makes its value after a boot unknown, unless
// it sets the value that it has anyway.
var places = []place{
	{paths: unitDirs, suffix: ".service"},
	{paths: []string{"/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/local/lib/tmpfiles.d", "/usr/lib/tmpfiles.d"}, suffix: ".conf"},
	{paths: []string{"/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d"}, suffix: ".rules"},
	{paths: advise.ModprobeDirs, suffix: ".conf"},
	{paths: []string{"/etc/NetworkManager/dispatcher.d", "/usr/lib/NetworkManager/dispatcher.d"}},
	{paths: []string{"/etc/NetworkManager/dispatcher.d/pre-up.d", "/usr/lib/NetworkManager/dispatcher.d/pre-up.d"}},
	{paths: []string{"/etc/NetworkManager/dispatcher.d/no-wait.d", "/usr/lib/NetworkManager/dispatcher.d/no-wait.d"}},
	{paths: []string{"/etc/networkd-dispatcher/configured.d", "/usr/lib/networkd-dispatcher/configured.d"}},
	{paths: []string{"/etc/networkd-dispatcher/carrier.d", "/usr/lib/networkd-dispatcher/carrier.d"}},
	{paths: []string{"/etc/networkd-dispatcher/degraded.d", "/usr/lib/networkd-dispatcher/degraded.d"}},
	{paths: []string{"/etc/networkd-dispatcher/routable.d", "/usr/lib/networkd-dispatcher/routable.d"}},
	{paths: []string{"/etc/network/interfaces"}}, {paths: []string{"/etc/network/interfaces.d"}},
	{paths: []string{"/etc/network/if-pre-up.d"}}, {paths: []string{"/etc/network/if-up.d"}},
	{paths: []string{"/etc/ppp/ip-up.d"}}, {paths: []string{"/etc/dhcp/dhclient-exit-hooks.d"}}, {paths: []string{"/sbin/ifup-local"}},
	{paths: []string{"/etc/wireguard"}, suffix: ".conf"},
	{paths: []string{"/etc/crontab"}}, {paths: []string{"/etc/anacrontab"}}, {paths: []string{"/etc/cron.d"}},
	{paths: []string{"/etc/cron.hourly"}}, {paths: []string{"/etc/cron.daily"}}, {paths: []string{"/etc/cron.weekly"}}, {paths: []string{"/etc/cron.monthly"}},
	{paths: []string{"/var/spool/cron"}}, {paths: []string{"/var/spool/cron/crontabs"}},
	{paths: []string{"/etc/cloud/cloud.cfg"}}, {paths: []string{"/etc/cloud/cloud.cfg.d"}, suffix: ".cfg"}, {paths: []string{"/var/lib/cloud/scripts/per-boot"}},
	{paths: []string{"/var/lib/cloud/instance/user-data.txt"}, within: []string{"bootcmd", "#cloud-boothook"}}, // the rest runs once
	{paths: []string{"/etc/init.d/boot.local"}}, {paths: []string{"/etc/rc.d/boot.local"}},
	{paths: []string{"/etc/rcS.d"}, script: true}, {paths: []string{"/etc/rc2.d"}, script: true}, {paths: []string{"/etc/rc3.d"}, script: true}, {paths: []string{"/etc/rc5.d"}, script: true},
}

// writers finds what speaks of a setting in those places, and in the scripts that are started from there. own are the
// files whose readers advise has.
func (h Host) writers(own advise.Files) (list advise.Files) {
	var started []string
	look := func(f advise.File) {
		if f.Why != "" && f.Why != "not there" || speaks(f.Text) {
			list = append(list, f)
		}
		started = append(started, programs(f.Text)...)
	}
	all := slices.Concat(places, h.overrides(), h.ufw())
	for _, f := range own {
		switch {
		case path.Base(f.Path) == "tuned.conf": // its scripts are beside it
			all = append(all, place{paths: []string{path.Dir(f.Path)}, suffix: ".sh"})
		case f.Path == advise.RCLocal || f.Path == advise.RCLocalRedHat:
			started = append(started, programs(f.Text)...)
		}
	}
	for _, p := range all {
		for _, f := range h.at(p) {
			look(f)
		}
	}
	slices.Sort(started)
	for _, name := range slices.Compact(started) { // one step: what those start is not looked for
		if _, known := own.Get(name); known || slices.ContainsFunc(list, func(f advise.File) bool { return f.Path == name }) {
			continue
		}
		if f := h.file(name); f.Why == "" && speaks(f.Text) {
			list = append(list, f)
		}
	}
	return list
}

// at returns the files of a place that count.
func (h Host) at(p place) (list advise.Files) {
	taken := map[string]bool{}
	for _, dir := range p.paths {
		names, err := h.Files.List(dir)
		if h.merged(dir) {
			continue
		}
		if err != nil { // a file, or nothing
			if f := h.file(dir); f.Why != "not there" && (f.Why != "" || within(f.Text, p.within)) {
				list = append(list, f)
			}
			continue
		}
		for _, n := range names {
			if n[0] == '.' || taken[n] || !strings.HasSuffix(n, p.suffix) || p.script && hasReader(n) {
				continue
			}
			taken[n] = true
			if f := h.file(dir + "/" + n); within(f.Text, p.within) && (p.suffix != ".service" || h.starts(f)) {
				list = append(list, f)
			}
		}
	}
	return list
}

func within(text string, any []string) bool {
	return len(any) == 0 || slices.ContainsFunc(any, func(s string) bool { return strings.Contains(text, s) })
}

// hasReader reports whether a script of sysvinit is not started, or is one that applies settings or runs rc.local: those have readers.
func hasReader(script string) bool {
	return script[0] == 'K' || slices.Contains([]string{"procps", "procps.sh", "sysctl", "rc.local", "local", "rc"}, strings.TrimLeft(script, "S0123456789"))
}

// starts reports whether something may start a unit: one that could be enabled, and is not, is idle.
func (h Host) starts(unit advise.File) bool {
	if !strings.Contains(unit.Text, "[Install]") || !speaks(unit.Text) && len(programs(unit.Text)) == 0 {
		return true
	}
	for _, dir := range unitDirs {
		names, _ := h.Files.List(dir)
		for _, n := range names {
			if path.Ext(n) != ".wants" && path.Ext(n) != ".requires" {
				continue
			}
			enabled, _ := h.Files.List(dir + "/" + n)
			if slices.ContainsFunc(enabled, func(by string) bool { return stem(by) == stem(path.Base(unit.Path)) }) {
				return true
			}
		}
	}
	return false
}

// stem is what a unit shares with its instances, and with the timer or socket that starts it.
func stem(unit string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(unit, path.Ext(unit)), "@")
	return name
}

// overrides are the drop-ins of units.
func (h Host) overrides() (list []place) {
	for _, dir := range unitDirs {
		names, _ := h.Files.List(dir)
		for _, n := range names {
			if strings.HasSuffix(n, ".service.d") && !h.merged(dir) {
				list = append(list, place{paths: []string{dir + "/" + n}, suffix: ".conf"})
			}
		}
	}
	return list
}

// ufw applies a file of settings when it starts, unless it is off.
func (h Host) ufw() []place {
	if valueOf(h.text("/etc/ufw/ufw.conf"), "ENABLED") == "no" {
		return nil
	}
	list := []place{{paths: []string{"/etc/ufw/before.init"}}, {paths: []string{"/etc/ufw/after.init"}}}
	settings := "/etc/ufw/sysctl.conf"
	if h.has("/etc/default/ufw") {
		settings = valueOf(h.text("/etc/default/ufw"), "IPT_SYSCTL")
	}
	if settings != "" {
		list = append(list, place{paths: []string{settings}})
	}
	return list
}

// valueOf reads the last KEY=value of a file that a shell reads.
func valueOf(text, key string) (value string) {
	for line := range strings.Lines(text) {
		if name, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok && name == key {
			value = strings.Trim(v, `"'`)
		}
	}
	return value
}

// speaks reports whether a text may set what advise predicts.
func speaks(text string) bool {
	return within(text, []string{"tcp_congestion_control", "default_qdisc"}) ||
		strings.Contains(text, "sysctl ") && within(text, []string{" -p", " --system", " --load", " -f", " -qp", " -ep", " -qep", " -eqp"})
}

// packaged are where no administrator puts a script.
var packaged = []string{"/bin/", "/sbin/", "/lib", "/usr/bin/", "/usr/sbin/", "/usr/lib", "/usr/share/", "/proc/", "/sys/", "/dev/", "/run/", "/boot/", "/var/log/"}

// programs are the paths in a text that an administrator's script may have.
func programs(text string) (paths []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, w := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n\r\"'`;|&()<>=@+!:", r) }) {
			w = strings.TrimLeft(w, "-") // of ExecStart=-/path
			if strings.HasPrefix(w, "/") && !slices.ContainsFunc(packaged, func(dir string) bool { return strings.HasPrefix(w, dir) }) {
				paths = append(paths, path.Clean(w))
			}
		}
	}
	return paths
}
