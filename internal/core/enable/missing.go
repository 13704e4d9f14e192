package enable

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/core/advise"
)

// missing lists what keeps BBR from being turned on by this program, here and now.
func missing(f *advise.Facts) (list []Missing) {
	for _, check := range []func(*advise.Facts) (Missing, bool){noKernel, noRight, readOnly, notLoadable, keptOut, notAllowed, noPacing} {
		if m, is := check(f); is {
			list = append(list, m)
		}
	}
	return list
}

func available(f *advise.Facts) bool { return slices.Contains(f.Cong.Available.Value, Cong) }

// loadable: the module lies there, or nobody could look, and then trying does no harm.
func loadable(f *advise.Facts) bool {
	s := f.Module("tcp_bbr").State
	return !s.OK() || s.Value != advise.ModuleAbsent
}

func noKernel(f *advise.Facts) (Missing, bool) {
	if available(f) || loadable(f) {
		return Missing{}, false
	}
	return Missing{fmt.Sprintf("kernel %s has no BBR, neither built in nor as the module tcp_bbr", f.Kernel.Release),
		inContainer(f, "run a kernel that has it (\"congctl host check\" says how on this distribution)"), false}, true
}

// inContainer says who to ask: in a container it is never the reader.
func inContainer(f *advise.Facts, alone string) string {
	if f.System.Container != "" {
		return "whoever runs the machine that this " + f.System.Container + " container is on: " + alone
	}
	return alone
}

func noRight(f *advise.Facts) (Missing, bool) {
	if f.System.Caps.NetAdmin {
		return Missing{}, false
	}
	if f.System.UID != 0 {
		return Missing{fmt.Sprintf("user %d may not change network settings (no CAP_NET_ADMIN)", f.System.UID), "run it as root: sudo congctl host enable bbr", true}, true
	}
	return Missing{"root has no CAP_NET_ADMIN here", inContainer(f, "give the container NET_ADMIN (docker run --cap-add NET_ADMIN), or turn BBR on outside"), false}, true
}

func readOnly(f *advise.Facts) (Missing, bool) {
	if !f.System.ProcSysReadOnly.Value {
		return Missing{}, false
	}
	return Missing{"/proc/sys is mounted read-only", inContainer(f, "start the container with --sysctl net.ipv4.tcp_congestion_control=bbr, or turn BBR on outside before it starts"), false}, true
}

func notLoadable(f *advise.Facts) (Missing, bool) {
	s := f.Module("tcp_bbr").State
	if available(f) || !s.OK() || s.Value != advise.ModuleLoadable {
		return Missing{}, false
	}
	if f.System.InitUserNS.OK() && !f.System.InitUserNS.Value || f.System.Container != "" && !f.System.Caps.SysModule {
		return Missing{"the module tcp_bbr is not loaded, and nobody in here may load it", inContainer(f, "sudo modprobe tcp_bbr"), false}, true
	}
	return Missing{}, false
}

// keptOut: a line of the host's own lets nothing load the module.
func keptOut(f *advise.Facts) (Missing, bool) {
	file, line, is := f.KeptOut("tcp_bbr")
	s := f.Module("tcp_bbr").State
	if !is || available(f) || s.OK() && s.Value != advise.ModuleLoadable {
		return Missing{}, false
	}
	return Missing{fmt.Sprintf("%s keeps the module tcp_bbr out: %s", file, line),
		inContainer(f, "whoever wrote that line: remove it, then the same again"), false}, true
}

// notAllowed: outside the first network namespace even root may default only to what
// the list of the first one has (tcp_set_default_congestion_control: EPERM).
func notAllowed(f *advise.Facts) (Missing, bool) {
	outside := f.System.InitNetNS.OK() && !f.System.InitNetNS.Value
	if !outside || f.Cong.Current.Value == Cong || !f.Cong.Allowed.OK() || slices.Contains(f.Cong.Allowed.Value, Cong) {
		return Missing{}, false
	}
	list := strings.Join(append(slices.Clone(f.Cong.Allowed.Value), Cong), " ")
	return Missing{advise.KeyAllowed + " of the machine does not list bbr, so the kernel refuses it in this network namespace (EPERM), even to root",
		inContainer(f, fmt.Sprintf("sudo sysctl -w %s=%q in the machine's first network namespace", advise.KeyAllowed, list)), false}, true
}

// noPacing: before 4.13 only fq paces, and BBR without pacing fills every queue.
func noPacing(f *advise.Facts) (Missing, bool) {
	s := f.Module("sch_fq").State
	if !s.OK() || s.Value != advise.ModuleAbsent || !before413(f.Kernel.Release) {
		return Missing{}, false
	}
	return Missing{fmt.Sprintf("kernel %s has no fq, and before Linux 4.13 nothing else paces BBR", f.Kernel.Release),
		inContainer(f, "run a kernel that has it (\"congctl host check\" says how on this distribution)"), false}, true
}

func before413(release string) bool {
	w := strings.SplitN(release, ".", 3)
	if len(w) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(w[0])
	minor, err2 := strconv.Atoi(strings.TrimRightFunc(w[1], func(r rune) bool { return r < '0' || r > '9' }))
	return err1 == nil && err2 == nil && (major < 4 || major == 4 && minor < 13)
}
