package enable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/host/advise"
)

const newKernel = "boot a kernel that has it (\"congctl host check\" says how on this distribution)"

// missing lists what prevents this program from turning BBR on, here and now.
func missing(f *advise.Facts) (list []Missing) {
	s, name, there := f.System, f.BBR(), available(f)
	state := f.Module("tcp_" + name).State
	lacks := func(is bool, what, fix string) {
		if is {
			list = append(list, Missing{What: what, Fix: inContainer(f, fix)})
		}
	}
	lacks(!there && state.Value == advise.ModuleAbsent,
		fmt.Sprintf("kernel %s has no BBR, neither built in nor as the module tcp_bbr", f.Kernel.Release), newKernel)
	if !s.Caps.NetAdmin && s.UID != 0 {
		list = append(list, Missing{fmt.Sprintf("user %d may not change network settings (no CAP_NET_ADMIN)", s.UID), "run it as root: sudo congctl host enable bbr", true})
	}
	lacks(!s.Caps.NetAdmin && s.UID == 0,
		"root has no CAP_NET_ADMIN here", "start the container with docker run --cap-add NET_ADMIN, or turn BBR on there")
	lacks(s.ProcSysReadOnly.Value,
		"/proc/sys is mounted read-only", "start the container with --sysctl net.ipv4.tcp_congestion_control=bbr, or turn BBR on there before it starts")
	lacks(!there && state.Value == advise.ModuleLoadable && (advise.No(s.InitUserNS) || s.Container != "" && !s.Caps.SysModule),
		"the module tcp_"+name+" is not loaded, and cannot be loaded from here", "sudo modprobe tcp_"+name)
	file, line, stopped := f.KeptOut("tcp_" + name)
	lacks(stopped && !there && (!state.OK() || state.Value == advise.ModuleLoadable),
		fmt.Sprintf("%s blocks the module tcp_%s: %s", file, name, line), "remove that line, then run this again")
	// Outside the first network namespace even root may use only what is on the first one's
	// list as a default (tcp_set_default_congestion_control: EPERM).
	c := f.Cong
	allowed := strings.Join(append(slices.Clone(c.Allowed.Value), name), " ")
	lacks(advise.No(s.InitNetNS) && c.Current.Value != name && c.Allowed.OK() && !slices.Contains(c.Allowed.Value, name),
		advise.KeyAllowed+" of the host does not list "+name+", so the kernel refuses it in this network namespace (EPERM), even to root",
		fmt.Sprintf("sudo sysctl -w %s=%q in the host's network namespace", advise.KeyAllowed, allowed))
	// BBR without pacing fills every queue.
	lacks(f.Module("sch_fq").State.Value == advise.ModuleAbsent && f.NeedsFq(),
		fmt.Sprintf("kernel %s has no fq, and before Linux 4.13 nothing else paces BBR", f.Kernel.Release), newKernel)
	return list
}

func available(f *advise.Facts) bool { return slices.Contains(f.Cong.Available.Value, f.BBR()) }

// inContainer says where to do it: for a container, on its host.
func inContainer(f *advise.Facts, alone string) string {
	if f.System.Container != "" {
		return "on the host of this " + f.System.Container + " container: " + alone
	}
	return alone
}
