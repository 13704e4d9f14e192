package advise

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/answer"
)

// Limits beyond which a host is too short of CPU for pacing.
const (
	// stealShare of all CPU time since boot. Pacing timers late by a scheduler's tick
	// (4 ms) make bursts of half a megabit at 100 Mbit/s; clouds without contention show
	// well below 1 %, and hosts out of CPU credits tens of per cent.
	stealShare = 0.05
	// runQueuePerCPU is runnable tasks per processor over the last minute: above two, a
	// timer's work waits for a whole time slice.
	runQueuePerCPU = 2.0
	// pressureShare of the last minute in which some task waited for a processor.
	pressureShare = 0.4
)

func checkSteal(f *Facts) Finding {
	s := f.CPU.StealShare
	switch {
	case !s.OK():
		return unclear("how much CPU time the hypervisor takes (steal)", s.Why, "mount /proc")
	case s.Value > stealShare:
		return warn("the hypervisor took %s of the CPU time since boot (limit %s)", percent(s.Value), percent(stealShare)).
			because("pacing needs its timers on time: without CPU credits BBR's packets leave in bursts, which hurts it more than CUBIC").
			fix("use a larger instance, or a type without CPU credits", "")
	}
	return ok("the hypervisor took %s of the CPU time since boot", percent(s.Value))
}

func checkRunQueue(f *Facts) Finding {
	q, p := f.CPU.RunQueue, f.CPU.Pressure
	if !q.OK() {
		return unclear("how many tasks wait for a CPU", q.Why, "mount /proc")
	}
	fact := fmt.Sprintf("%.1f runnable tasks per CPU, on %s (limit %.1f)", q.Value, answer.Count(f.CPU.CPUs, "CPU"), runQueuePerCPU)
	if p.OK() {
		fact += fmt.Sprintf(", tasks waited for a CPU %s of the last minute (limit %s)", percent(p.Value), percent(pressureShare))
	}
	if q.Value > runQueuePerCPU || p.Value > pressureShare {
		return warn("%s", fact).because("pacing needs its timers on time; on an overloaded host BBR's packets leave late and in bursts").
			fix("reduce the load or add CPUs before you judge BBR", "")
	}
	return ok("%s", fact)
}

func checkSockOps(f *Facts) Finding {
	o := f.Loop.Others
	if !o.OK() {
		return unclear("whether eBPF programs steer connections", o.Why, grantRoot(f))
	}
	var names []string
	ours := 0
	for _, p := range o.Value {
		if p.Name == ourProgram {
			ours++
			continue
		}
		names = append(names, fmt.Sprintf("%s (id %d)", p.Name, p.ID))
	}
	switch {
	case len(names) > 0:
		return warn("%s loaded by others: %s", answer.Count(len(names), "sock_ops program"), some(names)).
			because("programs like bpftune and Cilium may set the congestion control of connections, and disable each other's callbacks").
			fix("bpftool cgroup tree shows where they are attached; stop their owner, or leave the choice to it", "start it again")
	case ours > 0:
		return ok("only congctl's own sock_ops program is loaded")
	}
	return ok("no sock_ops program is loaded")
}

// ourProgram is the name of congctl's own (bpf/congctl.bpf.c), at most 15 bytes as the
// kernel keeps it.
const ourProgram = "congctl_sockops"

func checkCgroup(f *Facts) Finding {
	if f.System.Cgroup2 == "" {
		return warn("no cgroup2 is mounted").
			because("congctl up attaches its eBPF program to it; without it, it only observes").
			fix("sudo mkdir -p /sys/fs/cgroup/unified && sudo mount -t cgroup2 none /sys/fs/cgroup/unified", "sudo umount /sys/fs/cgroup/unified")
	}
	return ok("cgroup2 is mounted at %s", f.System.Cgroup2)
}

func checkBTF(f *Facts) Finding {
	if f.Kernel.BTF {
		return ok("the kernel has BTF (/sys/kernel/btf/vmlinux)")
	}
	return warn("the kernel has no BTF (/sys/kernel/btf/vmlinux)").
		because("congctl up needs it to load its eBPF program, and only observes without it; host check and host enable do not need it").
		fix("use a kernel with CONFIG_DEBUG_INFO_BTF: "+first(f.newerKernel()), "")
}

func first(a, _ string) string { return a }

func checkLoop(f *Facts) Finding {
	t := f.Loop.Tier
	why := ""
	if len(f.Loop.Reasons) > 0 {
		why = ": " + strings.Join(f.Loop.Reasons, "; ")
	}
	switch {
	case !t.OK():
		return unclear("what congctl up can do here", t.Why, grantRoot(f))
	case t.Value == "full" || t.Value == "good":
		return ok("congctl up works at tier %s%s", t.Value, why)
	case f.System.UID != 0:
		return unclear("what congctl up can do here", "as this user "+t.Value+why, grantRoot(f))
	}
	return warn("congctl up works at tier %s%s", t.Value, why).
		because("there it only watches; BBR for the whole host does not need it").
		fix("see congctl status, and docs/tiers.md", "")
}

func checkContainer(f *Facts) Finding {
	s := f.System
	switch {
	case s.Container != "" && No(s.InitNetNS):
		return ok("a container (%s) with its own network namespace; kernel, modules and default qdisc are the host's", s.Container)
	case s.Container != "":
		return ok("a container (%s) on its host's network", s.Container)
	case No(s.InitNetNS):
		return ok("not the host's network namespace")
	case !s.InitNetNS.OK():
		return unclear("which network namespace this is", s.InitNetNS.Why, "mount /proc, and /proc/sys with it")
	}
	return ok("not a container")
}
