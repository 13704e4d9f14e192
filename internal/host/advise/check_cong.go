package advise

import (
	"slices"
	"strconv"
	"strings"
)

func checkAvailable(f *Facts) Finding {
	a := f.Cong.Available
	if !a.OK() {
		return unclear("the list of congestion controls", a.Why, "mount /proc, and /proc/sys with it")
	}
	if f.hasBBR() {
		return ok("available: %s", strings.Join(a.Value, " "))
	}
	fix, undo := f.bringBBR()
	return fail("available: %s; bbr is not among them", strings.Join(a.Value, " ")).
		because("connections can only use a congestion control that the kernel has registered").fix(fix, undo)
}

// bringBBR returns how to get BBR registered.
func (f *Facts) bringBBR() (fix, undo string) {
	m := f.Module("tcp_bbr")
	_, _, stopped := f.KeptOut("tcp_bbr")
	switch {
	case m.State.OK() && m.State.Value == ModuleAbsent:
		return f.kernelWithBBR()
	case f.System.Container != "" || No(f.System.InitUserNS):
		return "on the host, not in here: modprobe tcp_bbr", "modprobe -r tcp_bbr"
	case stopped:
		return "see bbr-module", ""
	case !m.State.OK():
		return grantModules(f, "tcp_bbr"), ""
	}
	return "sudo modprobe tcp_bbr", "sudo modprobe -r tcp_bbr"
}

// setting returns how to change a key's value; in a container that may not write, only the one that
// starts it can.
func (f *Facts) setting(key, want, old string) (fix, undo string) {
	switch {
	case f.System.ProcSysReadOnly.Value || f.started() && !f.System.Caps.NetAdmin:
		return "start the container with docker run --sysctl " + key + "=" + want, "start it without that"
	case f.started():
		return "sysctl -w " + key + "=" + want, "sysctl -w " + key + "=" + old
	}
	return "sudo sysctl -w " + key + "=" + want, "sudo sysctl -w " + key + "=" + old
}

func checkCurrent(f *Facts) Finding {
	c := f.Cong.Current
	switch {
	case !c.OK():
		return unclear("the congestion control of new connections", c.Why, "mount /proc, and /proc/sys with it")
	case IsBBR(c.Value):
		return ok("new connections use %s", c.Value)
	}
	return fail("new connections use %s", c.Value).
		because("a connection gets its congestion control when it is opened; " + KeyCong + " is the default").
		fix(f.choosing(c.Value))
}

// choosing: what is not registered comes first, and if that takes another kernel, no setting helps.
func (f *Facts) choosing(old string) (fix, undo string) {
	fix, undo = f.setting(KeyCong, f.BBR(), old)
	if f.hasBBR() {
		return fix, undo
	}
	if m := f.Module(f.module()); m.State.OK() && m.State.Value != ModuleLoadable || !m.State.OK() {
		return "see cong-available; then: " + fix, undo
	}
	return fix, undo // root's choice loads the module
}

func checkAllowed(f *Facts) Finding {
	a := f.Cong.Allowed
	switch {
	case !a.OK():
		return unclear("what unprivileged programs may choose", a.Why, "mount /proc, and /proc/sys with it")
	case slices.Contains(a.Value, f.BBR()):
		return ok("allowed for unprivileged programs: %s", strings.Join(a.Value, " "))
	case IsBBR(f.Cong.Current.Value):
		return ok("allowed for unprivileged programs: %s; as %s is the default, connections get it anyway", strings.Join(a.Value, " "), f.BBR())
	}
	list, name := strings.Join(a.Value, " "), f.BBR()
	if !f.hasBBR() {
		return ok("allowed for unprivileged programs: %s; bbr can be added once it is available", list)
	}
	if No(f.System.InitNetNS) {
		return warn("allowed for unprivileged programs: %s; %s is not among them", list, name).
			because("in another network namespace even root gets EPERM for a congestion control that the host does not allow").
			fix("on the host, not in here: sysctl -w "+KeyAllowed+`="`+list+" "+name+`"`, "restore the old list")
	}
	return warn("allowed for unprivileged programs: %s; %s is not among them", list, name).
		because("a program without CAP_NET_ADMIN that asks for BBR gets EPERM; so does root of another network namespace that sets it as default").
		fix("sudo sysctl -w "+KeyAllowed+`="`+list+" "+name+`"`, "sudo sysctl -w "+KeyAllowed+`="`+list+`"`)
}

// checkMayChange reports whether this program could change the settings, and who could.
func checkMayChange(f *Facts) Finding {
	s := f.System
	why := "settings can only be changed where /proc/sys is writable"
	where := ""
	if s.Container != "" {
		where = " in this container (" + s.Container + ")"
	}
	switch {
	case s.ProcSysReadOnly.Value:
		return warn("/proc/sys is mounted read-only%s", where).because(why).
			fix("start it with docker run --sysctl "+KeyCong+"=bbr, the same in the pod's securityContext.sysctls, or a writable /proc/sys", "start it without that")
	case s.UID != 0 && !s.Caps.NetAdmin:
		return unclear("whether settings can be changed", "this is user "+strconv.Itoa(s.UID)+" without CAP_NET_ADMIN", "run it as root: sudo congctl host check")
	case !s.Caps.NetAdmin:
		return warn("root without CAP_NET_ADMIN%s", where).because(why).
			fix("grant it CAP_NET_ADMIN (docker run --cap-add NET_ADMIN)", "start it without that")
	case No(s.InitUserNS):
		return warn("root of a user namespace%s: modules cannot be loaded, and only what the host allows can be chosen", where).
			because("loading a module takes CAP_NET_ADMIN in the host's user namespace; choosing an unloaded or restricted congestion control returns ENOENT or EPERM").
			fix("on the host: modprobe tcp_bbr, and add bbr to "+KeyAllowed, "modprobe -r tcp_bbr")
	case No(s.InitNetNS):
		return ok("root in its own network namespace%s: %s can be set for it alone; %s belongs to the host", where, KeyCong, KeyQdisc)
	}
	return ok("root, with all the privileges that a change needs")
}

// grantRoot says which user sees what this program may not.
func grantRoot(f *Facts) string {
	switch {
	case f.System.UID != 0:
		return "run it as root: sudo congctl host check"
	case f.System.Container != "":
		return "on the host, as root: sudo congctl host check"
	}
	return "run it as root with all capabilities"
}

func checkSpaces(f *Facts) Finding {
	if !f.Spaces.OK() {
		return unclear("what other network namespaces use", f.Spaces.Why, grantRoot(f))
	}
	var others []string
	for _, s := range f.Spaces.Value {
		if !IsBBR(s.Current) {
			others = append(others, s.Name+" "+s.Current)
		}
	}
	switch n := len(f.Spaces.Value); {
	case n == 0:
		return ok("there is no other network namespace")
	case len(others) == 0:
		return ok("all %d other network namespaces use bbr", n)
	case f.older(kernelNetns):
		return ok("%d other network namespaces share this one's default (before %v)", n, kernelNetns)
	default:
		return warn("%d of %d other network namespaces use another default: %s", len(others), n, some(others)).
			because("a namespace copies the default when it is created and keeps it, so older containers use the old one").
			fix("restart the containers after changing the host's default", "")
	}
}
