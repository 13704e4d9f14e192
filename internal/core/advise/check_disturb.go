package advise

import "fmt"

// Limits beyond which a host is too short of CPU for pacing.
const (
	// stealShare of all CPU time since boot. Pacing timers late by a scheduler's tick
	// (4 ms) make bursts of half a megabit at 100 Mbit/s; clouds without contention show
	// well below 1 %, and hosts out of CPU credits tens of per cent.
	stealShare = 0.05
	// runQueuePerCPU tasks that want each processor over the last minute: with more than
	// two, a timer's work waits for a whole time slice.
	runQueuePerCPU = 2.0
	// pressureShare of the last minute in which some task waited for a processor.
	pressureShare = 0.4
)

func checkSteal(f *Facts) Finding {
	const id = "cpu-steal"
	s := f.CPU.StealShare
	switch {
	case !s.OK():
		return unclear(id, "how much CPU the hypervisor keeps", s.Why, "mount /proc")
	case s.Value > stealShare:
		return warn(id, "the hypervisor kept %s of the CPU time since boot (limit %s)", percent(s.Value), percent(stealShare)).
			because("pacing needs its timers in time: a host out of CPU credits sends BBR's packets in bursts, and CUBIC suffers less").
			fix("a larger instance, or one without CPU credits", "")
	}
	return ok(id, "the hypervisor kept %s of the CPU time since boot", percent(s.Value))
}

func checkRunQueue(f *Facts) Finding {
	const id = "cpu-queue"
	q, p := f.CPU.RunQueue, f.CPU.Pressure
	if !q.OK() {
		return unclear(id, "how many tasks wait for a CPU", q.Why, "mount /proc")
	}
	fact := fmt.Sprintf("%.1f tasks want each of %s (limit %.1f)", q.Value, plural(f.CPU.CPUs, "CPU", "CPUs"), runQueuePerCPU)
	if p.OK() {
		fact += fmt.Sprintf(", some waited for %s of the last minute (limit %s)", percent(p.Value), percent(pressureShare))
	}
	if q.Value > runQueuePerCPU || p.Value > pressureShare {
		return warn(id, "%s", fact).because("pacing needs its timers in time; where processors are short, BBR's packets leave late and in bursts").
			fix("fewer tasks, or more processors, before BBR is judged", "")
	}
	return ok(id, "%s", fact)
}

func checkSockOps(f *Facts) Finding {
	const id = "sock-ops"
	o := f.Loop.Others
	if !o.OK() {
		return unclear(id, "whether eBPF programs steer connections", o.Why, grantRoot(f))
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
		return warn(id, "%s of others: %s", plural(len(names), "sock_ops program", "sock_ops programs"), some(names)).
			because("bpftune, Cilium and their like may set the congestion control of connections themselves, and take each other's callbacks").
			fix("bpftool cgroup tree tells where they hang; stop the program's owner or leave the choice to it", "start it again")
	case ours > 0:
		return ok(id, "only congctl's own sock_ops program is loaded")
	}
	return ok(id, "no sock_ops program is loaded")
}

// ourProgram is the name of congctl's own (bpf/congctl.bpf.c), at most 15 bytes as the kernel keeps it.
const ourProgram = "congctl_sockops"

func checkCgroup(f *Facts) Finding {
	const id = "cgroup2"
	if f.System.Cgroup2 == "" {
		return warn(id, "no cgroup2 is mounted").
			because("congctl up attaches its eBPF program to it; without one it works by routes").
			fix("sudo mkdir -p /sys/fs/cgroup/unified && sudo mount -t cgroup2 none /sys/fs/cgroup/unified", "sudo umount /sys/fs/cgroup/unified")
	}
	return ok(id, "cgroup2 is mounted at %s", f.System.Cgroup2)
}

func checkBTF(f *Facts) Finding {
	const id = "btf"
	if f.Kernel.BTF {
		return ok(id, "the kernel tells its types (/sys/kernel/btf/vmlinux)")
	}
	return warn(id, "the kernel does not tell its types: no /sys/kernel/btf/vmlinux").
		because("congctl up loads its eBPF program by them; without them it works by routes. host check and host enable need none").
		fix("a kernel with CONFIG_DEBUG_INFO_BTF: "+first(f.newerKernel()), "")
}

func first(a, _ string) string { return a }

func checkLoop(f *Facts) Finding {
	const id = "loop-tier"
	t := f.Loop.Tier
	why := ""
	if len(f.Loop.Reasons) > 0 {
		why = ": " + f.Loop.Reasons[0]
	}
	switch {
	case !t.OK():
		return unclear(id, "what congctl up can do here", t.Why, grantRoot(f))
	case t.Value == "full" || t.Value == "good":
		return ok(id, "congctl up works at tier %s%s", t.Value, why)
	case f.System.UID != 0:
		return unclear(id, "what congctl up can do here", "as this user "+t.Value+why, grantRoot(f))
	}
	return warn(id, "congctl up works at tier %s%s", t.Value, why).
		because("it then treats less finely, or only watches; BBR for the whole host needs none of it").
		fix("see congctl status and the kernel tiers of the documentation", "")
}

func checkContainer(f *Facts) Finding {
	const id = "container"
	s := f.System
	switch {
	case s.Container != "" && known(s.InitNetNS) == no:
		return ok(id, "a container (%s) with a network namespace of its own: its kernel, modules and default qdisc are the host's", s.Container)
	case s.Container != "":
		return ok(id, "a container (%s) on its host's network", s.Container)
	case known(s.InitNetNS) == no:
		return ok(id, "not the machine's first network namespace")
	case !s.InitNetNS.OK():
		return unclear(id, "which network namespace this is", s.InitNetNS.Why, "mount /proc, and /proc/sys with it")
	}
	return ok(id, "a machine of its own")
}
