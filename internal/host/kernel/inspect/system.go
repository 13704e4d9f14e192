package inspect

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/host/advise"
)

func (h Host) system() advise.System {
	s := advise.System{
		Distro:          h.distro(),
		Container:       h.container(),
		ProcSysReadOnly: known(h.procSysReadOnly()),
		InitNetNS:       known(h.initNetNS()),
		InitUserNS:      known(h.initUserNS()),
		Cgroup2:         h.cgroup2(),
	}
	s.Init, s.Script, s.ScriptAnyMode = h.Boot()
	if family := " " + s.Distro.ID + " " + s.Distro.Like + " "; s.Script == advise.RCLocal && !h.has(s.Script) && h.has(advise.RCLocalRedHat) &&
		slices.ContainsFunc([]string{" amzn ", " fedora ", " rhel ", " centos "}, func(id string) bool { return strings.Contains(family, id) }) {
		s.Script = advise.RCLocalRedHat
	}
	s.Applier, s.ApplierWhy = h.applier(s.Init)
	if slices.ContainsFunc([]string{"/sbin/sysctl", "/usr/sbin/sysctl", "/bin/sysctl"}, func(p string) bool { return strings.Contains(h.link(p), "busybox") }) {
		s.Sysctl = "busybox"
	}
	s.UID, s.Caps = h.process()
	return s
}

// distro reads os-release(5): KEY=value lines, values in shell quotes or none.
func (h Host) distro() advise.Distro {
	text, err := h.Files.Read("/etc/os-release")
	if err != nil {
		text = h.text("/usr/lib/os-release")
	}
	set := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		set[key] = strings.Trim(value, `"'`)
	}
	return advise.Distro{ID: set["ID"], Like: set["ID_LIKE"], Version: set["VERSION_ID"], Name: set["PRETTY_NAME"]}
}

// strangers are inits that congctl knows by name only. In a container any other first process is an
// application; elsewhere it is an init.
var strangers = []string{"procd", "runit", "runit-init", "dinit", "s6-svscan", "s6-linux-init", "openrc-init", "finit", "shepherd", "upstart", "sinit", "systemd", "init"}

// init detects the init by the traces that it leaves while it runs; a file of its program
// only shows that it is installed.
func (h Host) init() string {
	comm := strings.TrimSpace(h.text("/proc/1/comm"))
	switch {
	case h.hasDir("/run/systemd/system"):
		return "systemd"
	case h.hasDir("/run/openrc"):
		return "openrc"
	case comm == "init" && strings.Contains(h.link("/sbin/init"), "busybox"):
		return "busybox"
	case comm == "init" && h.has("/etc/inittab"):
		return "sysvinit"
	case comm == "" || h.container() != "" && !slices.Contains(strangers, comm):
		return "none"
	}
	return comm
}

func (h Host) hasDir(dir string) bool {
	_, err := h.Files.List(dir)
	return err == nil
}

// systemdSysctls are the places of systemd's program; the last one is of NixOS.
var systemdSysctls = []string{"/usr/lib/systemd/systemd-sysctl", "/lib/systemd/systemd-sysctl", "/run/current-system/systemd/lib/systemd/systemd-sysctl"}

// applier finds what sets sysctls at boot, or says why that is unknown.
func (h Host) applier(init string) (applier, why string) {
	switch init {
	case "none": // its files exist, but nothing runs them
		return "", ""
	case "systemd":
		return h.systemdApplier()
	case "openrc":
		switch {
		case h.reached("sysctl"):
			return "openrc", ""
		case h.reached("procps"): // Debian's has no sysctl
			return "procps", ""
		}
		return "", "" // links of sysvinit may be left
	case "busybox":
		if strings.Contains(h.text("/etc/inittab")+h.text("/etc/init.d/rcS"), "sysctl") {
			return "busybox", ""
		}
	case "sysvinit":
	default:
		return "", "congctl does not know what this init (" + init + ") runs at boot"
	}
	dirs := []string{"/etc/rcS.d", "/etc/rc2.d", "/etc/rc3.d"}
	if init == "busybox" { // Buildroot's rcS runs what is beside it
		dirs = append(dirs, "/etc/init.d")
	}
	for _, dir := range dirs {
		names, _ := h.Files.List(dir)
		for _, n := range names {
			switch {
			case !strings.HasPrefix(n, "S") || !strings.Contains(n, "procps") && !strings.Contains(n, "sysctl"):
			case dir == "/etc/init.d":
				return "", "congctl does not read " + dir + "/" + n
			default:
				return "procps", ""
			}
		}
	}
	for _, script := range []string{"/etc/rc.d/rc.sysinit", "/etc/rc.sysinit", "/etc/rc.d/rc.S", "/etc/rc.d/rc.M"} { // of Red Hat 6, of Slackware
		if strings.Contains(h.text(script), "sysctl") {
			return "", "congctl does not read " + script
		}
	}
	return "", ""
}

func (h Host) systemdApplier() (applier, why string) {
	if slices.ContainsFunc([]string{"/etc/systemd/system/", "/run/systemd/system/"}, func(dir string) bool { return h.link(dir+"systemd-sysctl.service") == "/dev/null" }) {
		return "", "" // masked
	}
	if slices.ContainsFunc(systemdSysctls, h.has) {
		return "systemd-sysctl", ""
	}
	return "", "there is no systemd-sysctl where distributions have it"
}

func (h Host) container() string {
	kind := strings.TrimSpace(h.text("/run/systemd/container"))
	switch {
	case kind != "":
		return kind
	case h.has("/run/.containerenv"):
		return "podman"
	case h.has("/.dockerenv"):
		return "docker"
	case strings.Contains(h.text("/proc/1/cgroup"), "/kubepods"):
		return "kubernetes"
	}
	for entry := range strings.SplitSeq(h.text("/proc/1/environ"), "\x00") {
		if kind, ok := strings.CutPrefix(entry, "container="); ok {
			return kind
		}
	}
	return ""
}

// process reads this program's privileges: the first of the ids is the real one, CapEff
// the capabilities in force.
func (h Host) process() (uid int, c advise.Caps) {
	for line := range strings.Lines(h.text("/proc/self/status")) {
		key, value, _ := strings.Cut(line, ":")
		switch w := strings.Fields(value); {
		case key == "Uid" && len(w) > 1:
			uid, _ = strconv.Atoi(w[1]) // effective
		case key == "CapEff" && len(w) == 1:
			bits, _ := strconv.ParseUint(w[0], 16, 64)
			has := func(bit int) bool { return bits>>bit&1 != 0 }
			c = advise.Caps{NetAdmin: has(unix.CAP_NET_ADMIN), SysModule: has(unix.CAP_SYS_MODULE)}
		}
	}
	return uid, c
}

// procSysReadOnly looks at the mount that holds /proc/sys/net: the last of those that
// cover it most closely.
func (h Host) procSysReadOnly() (bool, error) {
	const want = "/proc/sys/net"
	text, err := h.Files.Read("/proc/self/mountinfo")
	if err != nil {
		return false, err
	}
	best, readOnly := -1, false
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) < 6 || want != w[4] && !strings.HasPrefix(want, strings.TrimSuffix(w[4], "/")+"/") || len(w[4]) < best {
			continue
		}
		best, readOnly = len(w[4]), strings.HasPrefix(w[5]+",", "ro,")
	}
	if best < 0 {
		return false, errors.New("no mount of /proc in /proc/self/mountinfo")
	}
	return readOnly, nil
}

// initNetNS: of the settings below net/core only some exist in every network
// namespace, and default_qdisc is not one of them.
func (h Host) initNetNS() (bool, error) {
	names, err := h.Files.List("/proc/sys/net/core")
	if err != nil {
		return false, err
	}
	if !slices.Contains(names, "somaxconn") {
		return false, errors.New("no settings below /proc/sys/net/core")
	}
	return slices.Contains(names, path.Base(SysctlPath(advise.KeyQdisc))), nil
}

// initUserNS: only the first one maps every id onto itself.
func (h Host) initUserNS() (bool, error) {
	text, err := h.Files.Read("/proc/self/uid_map")
	return strings.Join(strings.Fields(text), " ") == "0 0 4294967295", err
}

func (h Host) cgroup2() string {
	for line := range strings.Lines(h.text("/proc/self/mounts")) {
		if w := strings.Fields(line); len(w) > 2 && w[2] == "cgroup2" {
			return w[1]
		}
	}
	return ""
}
