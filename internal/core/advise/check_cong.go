package advise

import (
	"slices"
	"strings"
)

func checkAvailable(f *Facts) Finding {
	const id = "cong-available"
	a := f.Cong.Available
	if !a.OK() {
		return unclear(id, "the list of congestion controls", a.Why, "mount /proc, and /proc/sys with it")
	}
	if f.hasBBR() {
		return ok(id, "available: %s", strings.Join(a.Value, " "))
	}
	fix, undo := f.bringBBR()
	return fail(id, "available: %s; bbr is not among them", strings.Join(a.Value, " ")).
		because("no connection can use what the kernel has not registered").fix(fix, undo)
}

// bringBBR is the way to a registered BBR.
func (f *Facts) bringBBR() (fix, undo string) {
	m := f.Module("tcp_bbr")
	_, stopped := hardBar(f.barred("tcp_bbr"))
	switch {
	case m.State.OK() && m.State.Value == ModuleAbsent:
		return f.kernelWithBBR()
	case f.System.Container != "" || known(f.System.InitUserNS) == no:
		return "whoever runs the host: modprobe tcp_bbr, there and not in here", "modprobe -r tcp_bbr"
	case stopped:
		return "see bbr-module", ""
	case !m.State.OK():
		return grantModules(f, "tcp_bbr"), ""
	}
	return "sudo modprobe tcp_bbr", "sudo modprobe -r tcp_bbr"
}

// setting is the way to another value of a key; in a container that may not write, by
// who starts it.
func (f *Facts) setting(key, want, old string) (fix, undo string) {
	switch {
	case known(f.System.ProcSysReadOnly) == yes || f.started() && !f.System.Caps.NetAdmin:
		return "whoever starts the container: docker run --sysctl " + key + "=" + want, "start it without"
	case f.started():
		return "sysctl -w " + key + "=" + want, "sysctl -w " + key + "=" + old
	}
	return "sudo sysctl -w " + key + "=" + want, "sudo sysctl -w " + key + "=" + old
}

// answer is that of a question that may be open.
type answer int

const (
	open answer = iota
	yes
	no
)

func known(k Known[bool]) answer {
	switch {
	case !k.OK():
		return open
	case k.Value:
		return yes
	}
	return no
}

func checkCurrent(f *Facts) Finding {
	const id = "cong-current"
	c := f.Cong.Current
	switch {
	case !c.OK():
		return unclear(id, "the congestion control of new connections", c.Why, "mount /proc, and /proc/sys with it")
	case c.Value == "bbr":
		return ok(id, "new connections use bbr")
	}
	return fail(id, "new connections use %s", c.Value).
		because("BBR is chosen when a connection is opened; " + KeyCong + " says which is the default").
		fix(f.choosing(c.Value))
}

// choosing: what is not registered has to come first, and where that takes another
// kernel no setting helps.
func (f *Facts) choosing(old string) (fix, undo string) {
	fix, undo = f.setting(KeyCong, "bbr", old)
	if f.hasBBR() {
		return fix, undo
	}
	if m := f.Module("tcp_bbr"); m.State.OK() && m.State.Value != ModuleLoadable || !m.State.OK() {
		return "see cong-available; then: " + fix, undo
	}
	return fix, undo // root's choice loads the module
}

func checkAllowed(f *Facts) Finding {
	const id = "cong-allowed"
	a := f.Cong.Allowed
	switch {
	case !a.OK():
		return unclear(id, "what programs without privilege may choose", a.Why, "mount /proc, and /proc/sys with it")
	case slices.Contains(a.Value, "bbr"):
		return ok(id, "allowed to everybody: %s", strings.Join(a.Value, " "))
	case f.Cong.Current.Value == "bbr":
		return ok(id, "allowed to everybody: %s; as bbr is the default, connections get it without asking", strings.Join(a.Value, " "))
	}
	list := strings.Join(a.Value, " ")
	if !f.hasBBR() {
		return ok(id, "allowed to everybody: %s; bbr can be once it is available", list)
	}
	if known(f.System.InitNetNS) == no {
		return warn(id, "allowed to everybody: %s; bbr is not among them", list).
			because("in another network namespace even root gets EPERM for a congestion control that its host does not allow").
			fix("whoever runs the host: sysctl -w "+KeyAllowed+`="`+list+` bbr", there and not in here`, "the list as it was")
	}
	return warn(id, "allowed to everybody: %s; bbr is not among them", list).
		because("a program without CAP_NET_ADMIN that asks for BBR gets EPERM, and so does root of another network namespace that makes it its default").
		fix("sudo sysctl -w "+KeyAllowed+`="`+list+` bbr"`, "sudo sysctl -w "+KeyAllowed+`="`+list+`"`)
}

// checkMayChange says whether this program could change the settings, and who could.
func checkMayChange(f *Facts) Finding {
	const id = "may-change"
	s := f.System
	why := "the settings can only be changed where they may be written"
	where := ""
	if s.Container != "" {
		where = " in this container (" + s.Container + ")"
	}
	switch {
	case known(s.ProcSysReadOnly) == yes:
		return warn(id, "/proc/sys is mounted read-only%s", where).because(why).
			fix("whoever runs it: docker run --sysctl "+KeyCong+"=bbr, or the same in the pod's securityContext.sysctls; or a writable /proc/sys", "run it without")
	case s.UID != 0 && !s.Caps.NetAdmin:
		return unclear(id, "what a change would meet", "this is user "+itoa(s.UID)+" without CAP_NET_ADMIN", "root can: sudo congctl host check")
	case !s.Caps.NetAdmin:
		return warn(id, "root without CAP_NET_ADMIN%s", where).because(why).
			fix("whoever runs it: grant CAP_NET_ADMIN (docker run --cap-add NET_ADMIN)", "run it without")
	case known(s.InitUserNS) == no:
		return warn(id, "root of a user namespace%s: modules cannot be loaded, and only what the host allows can be chosen", where).
			because("loading a module takes CAP_NET_ADMIN in the first user namespace: choosing an unloaded or restricted congestion control gives ENOENT or EPERM").
			fix("whoever runs the host: modprobe tcp_bbr, and bbr in the host's "+KeyAllowed, "modprobe -r tcp_bbr")
	case known(s.InitNetNS) == no:
		return ok(id, "root in a network namespace of its own%s: %s can be set for it alone; %s belongs to the host", where, KeyCong, KeyQdisc)
	}
	return ok(id, "root with all that a change needs")
}

// grantRoot: who sees what this program may not.
func grantRoot(f *Facts) string {
	switch {
	case f.System.UID != 0:
		return "root can: sudo congctl host check"
	case f.System.Container != "":
		return "root of the host, out there: sudo congctl host check"
	}
	return "root with all capabilities"
}

func checkSpaces(f *Facts) Finding {
	const id = "namespaces"
	if !f.Spaces.OK() {
		return unclear(id, "what other network namespaces use", f.Spaces.Why, grantRoot(f))
	}
	var others []string
	for _, s := range f.Spaces.Value {
		if s.Current != "bbr" {
			others = append(others, s.Name+" "+s.Current)
		}
	}
	switch n := len(f.Spaces.Value); {
	case n == 0:
		return ok(id, "there is no other network namespace")
	case len(others) == 0:
		return ok(id, "all %d other network namespaces use bbr", n)
	case f.older(kernelNetns):
		return ok(id, "%d other network namespaces share this one's default (before %v)", n, kernelNetns)
	default:
		return warn(id, "%d of %d other network namespaces use another default: %s", len(others), n, some(others)).
			because("a namespace takes its default over when it is made, and keeps it: containers that run since before use the old one").
			fix("start the containers again after the host's default is changed", "")
	}
}
