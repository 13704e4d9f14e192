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
	s.Init = h.Init()
	if s.Init == "systemd" {
		s.Script = h.rcLocal(s.Distro)
	}
	s.Applies = h.applies(s.Init)
	s.Busybox = slices.ContainsFunc([]string{"/sbin/sysctl", "/usr/sbin/sysctl", "/bin/sysctl"}, func(p string) bool { return strings.Contains(h.link(p), "busybox") })
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

// inits are names of first processes. In a container any other first process is an application;
// elsewhere it is an init.
var inits = []string{"procd", "runit", "runit-init", "dinit", "s6-svscan", "s6-linux-init", "openrc-init", "finit", "shepherd", "upstart", "sinit", "systemd", "init"}

// Init detects the init by the traces that it leaves while it runs; a file of its program
// only shows that it is installed.
func (h Host) Init() string {
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
	case comm == "" || h.container() != "" && !slices.Contains(inits, comm):
		return "none"
	}
	return comm
}

func (h Host) hasDir(dir string) bool {
	_, err := h.Files.List(dir)
	return err == nil
}

// generators make the unit that runs rc.local, if that may be run; later systemd has none.
var generators = []string{"/usr/lib/systemd/system-generators/systemd-rc-local-generator", "/lib/systemd/system-generators/systemd-rc-local-generator"}

// rcLocal is the script that systemd runs at the end of a boot, "" for none.
func (h Host) rcLocal(d advise.Distro) string {
	by := append([]string{"/etc/systemd/system/multi-user.target.wants/rc-local.service"}, generators...)
	if h.link("/etc/systemd/system/rc-local.service") == "/dev/null" || !slices.ContainsFunc(by, h.has) {
		return ""
	}
	family := " " + d.ID + " " + d.Like + " "
	if !h.has(advise.RCLocal) && h.has(advise.RCLocalRedHat) &&
		slices.ContainsFunc([]string{" amzn ", " fedora ", " rhel ", " centos "}, func(id string) bool { return strings.Contains(family, id) }) {
		return advise.RCLocalRedHat
	}
	return advise.RCLocal
}

// systemdSysctls are the places of systemd's program; the last one is of NixOS.
var systemdSysctls = []string{"/usr/lib/systemd/systemd-sysctl", "/lib/systemd/systemd-sysctl", "/run/current-system/systemd/lib/systemd/systemd-sysctl"}

// applies finds out whether systemd-sysctl sets sysctls at boot.
func (h Host) applies(init string) advise.Known[bool] {
	masked := func(dir string) bool { return h.link(dir+"systemd-sysctl.service") == "/dev/null" }
	switch {
	case init == "none": // its files exist, but nothing runs them
		return advise.Know(false)
	case init != "systemd":
		return advise.Unknown[bool](advise.OnlySystemd(init))
	case slices.ContainsFunc([]string{"/etc/systemd/system/", "/run/systemd/system/"}, masked):
		return advise.Know(false)
	case slices.ContainsFunc(systemdSysctls, h.has):
		return advise.Know(true)
	}
	return advise.Unknown[bool]("there is no systemd-sysctl where distributions have it")
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
