package advise

import (
	"slices"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/host/kconfig"
)

// The two commands that change a host, and undo the change.
const (
	enableBBR = "sudo congctl host enable bbr"
	disable   = "sudo congctl host disable"
)

func checkKernelVersion(f *Facts) Finding {
	v := kconfig.ParseVersion(f.Kernel.Release)
	switch {
	case v == (kconfig.Version{}):
		return unclear("the kernel's version", "release "+strconv.Quote(f.Kernel.Release)+" is not a number", "ask the builder of the kernel")
	case f.hasBBR():
		if v.Before(kernelPacing) {
			return warn("Linux %s: before %v BBR is paced by fq alone", f.Kernel.Release, kernelPacing).
				because("on an interface without fq BBR sends bursts and misjudges the rate").
				fix(f.newerKernel())
		}
		return ok("Linux %s: has BBR, and TCP paces by itself (%v and later)", f.Kernel.Release, kernelPacing)
	case v.Before(kernelBBR):
		return fail("Linux %s is older than %v: there is no BBR in it", f.Kernel.Release, kernelBBR).
			because("the distribution updates its own kernels; a kernel you build yourself you must also update yourself").
			fix(f.newerKernel())
	}
	return ok("Linux %s: new enough for BBR (%v)", f.Kernel.Release, kernelBBR)
}

// hasBBR: some kernels of distributions have it earlier than the version says.
func (f *Facts) hasBBR() bool { return slices.Contains(f.Cong.Available.Value, "bbr") }

func checkKernelConfig(f *Facts) Finding {
	c := f.Kernel.Config
	if !c.OK() {
		if m := f.Module("tcp_bbr"); m.State.OK() && m.State.Value != ModuleAbsent {
			return ok("no configuration to read (%s), but BBR was found without it", c.Why)
		}
		return unclear("the kernel's configuration", c.Why, grantConfig(f))
	}
	switch c.Value["TCP_CONG_BBR"] {
	case "y":
		return ok("%s: BBR is built in", f.Kernel.From)
	case "m":
		return ok("%s: BBR is a module", f.Kernel.From)
	}
	return fail("%s: CONFIG_TCP_CONG_BBR is not set", f.Kernel.From).
		because("this kernel was built without BBR, and no setting can add it").
		fix(f.kernelWithBBR())
}

// kernelWithBBR: a distribution's newer kernel first, since several distributions built old ones
// without BBR and their successors with it.
func (f *Facts) kernelWithBBR() (fix, undo string) {
	d := f.System.Distro
	if !f.NeedsFq() && (d.ID == "poky" || strings.Contains(d.Like, "poky")) {
		return "congctl host kernel fragment --for yocto, added to the kernel's recipe; build the image again", "the image before it"
	}
	fix, undo = f.newerKernel()
	if f.System.Container == "" {
		fix += "; if that one has no BBR either: congctl host kernel fragment"
	}
	return fix, undo
}

func grantConfig(f *Facts) string {
	if f.System.UID != 0 && f.System.Container == "" {
		return "run it as root: sudo congctl host check"
	}
	return "provide CONFIG_IKCONFIG_PROC, or a file /boot/config-" + f.Kernel.Release
}

func checkModule(f *Facts) Finding {
	m := f.Module("tcp_bbr")
	if !m.State.OK() {
		return unclear("whether the module tcp_bbr exists", m.State.Why, grantModules(f, "tcp_bbr"))
	}
	switch m.State.Value {
	case ModuleBuiltin:
		return ok("tcp_bbr is built into the kernel")
	case ModuleLoaded:
		return ok("tcp_bbr is loaded")
	case ModuleLoadable:
		if file, line, stopped := f.KeptOut("tcp_bbr"); stopped {
			return fail("tcp_bbr is on disk, but blocked by %s: %s", file, line).
				because("that line keeps the module from being loaded, so BBR cannot be used").
				fix("remove the line, then: sudo modprobe tcp_bbr", "put the line back, then: sudo modprobe -r tcp_bbr")
		}
		return warn("tcp_bbr is on disk but not loaded").
			because("until then BBR is not among the available congestion controls; the first use by root loads it").
			fix("sudo modprobe tcp_bbr", "sudo modprobe -r tcp_bbr")
	}
	return fail("there is no module tcp_bbr for Linux %s", f.Kernel.Release).
		because("this kernel was built without BBR, or its package of extra modules is not installed").
		fix(f.kernelWithBBR())
}

func grantModules(f *Facts, module string) string {
	if f.System.Container != "" {
		return "on the host: modprobe " + module + "; or mount /lib/modules in here, so that it can be checked"
	}
	return "boot the installed kernel, or install this kernel's modules below /lib/modules/" + f.Kernel.Release
}

// checkAutoload checks that the module will be there when the setting is made at boot.
func checkAutoload(f *Facts) Finding {
	m := f.Module("tcp_bbr")
	bars := f.barred("tcp_bbr")
	from := f.Loads("tcp_bbr")
	file, line, stopped := f.KeptOut("tcp_bbr")
	switch {
	case m.State.OK() && m.State.Value == ModuleBuiltin:
		return ok("nothing to load: tcp_bbr is built in")
	case !m.State.OK():
		return unclear("whether tcp_bbr loads at boot", m.State.Why, grantModules(f, "tcp_bbr"))
	case m.State.Value == ModuleAbsent:
		return fail("nothing to load at boot: there is no module tcp_bbr").
			because("see bbr-module").fix(f.kernelWithBBR())
	case stopped:
		return fail("%s blocks tcp_bbr: %s", file, line).
			because("the module cannot be loaded after a reboot, whatever sysctl.d says").
			fix("remove the line", "put the line back")
	case from != "" && len(bars) > 0:
		return warn("%s loads tcp_bbr, but %s has: %s", from, bars[0].file, bars[0].line).
			because("systemd-modules-load obeys a blacklist; then only the sysctl setting loads the module, by name").
			fix("remove the line of "+bars[0].file, "put the line back")
	case from == "" && f.misnamedFor("tcp_bbr") != "":
		file := f.misnamedFor("tcp_bbr")
		return warn("nothing reads %s, which names tcp_bbr: %s", file, onlyConf).
			because("in modules-load.d other files are ignored without a word").
			fix("sudo mv "+file+" "+renamed(file), "sudo mv "+renamed(file)+" "+file)
	case f.AfterBoot(KeyCong).Value.Value == "bbr" && from == "":
		return ok("the sysctl setting loads tcp_bbr at boot (%s)", f.AfterBoot(KeyCong).Value.From)
	case from != "":
		return ok("%s loads tcp_bbr at boot", from)
	}
	return warn("no file in modules-load.d names tcp_bbr, so only a setting by root loads it").
		because("at boot the sysctl setting loads the module if the kernel may call modprobe; an unprivileged program that asks for BBR cannot load it").
		fix("echo tcp_bbr | sudo tee /etc/modules-load.d/bbr.conf", "sudo rm /etc/modules-load.d/bbr.conf")
}

func checkBBRVersion(f *Facts) Finding {
	m := f.Module("tcp_bbr")
	switch {
	case m.State.OK() && m.State.Value == ModuleAbsent:
		return ok("none: this kernel has no BBR")
	case m.Version != "":
		return ok("BBR version %s, as /sys/module/tcp_bbr/version says", m.Version)
	case slices.ContainsFunc(f.Cong.Available.Value, func(c string) bool { return c == "bbr2" || c == "bbr3" }):
		return ok("available: %s; bbr is version 1", strings.Join(f.Cong.Available.Value, " "))
	case f.hasBBR() || m.State.OK() && m.State.Value == ModuleLoaded:
		return ok("BBR version 1: the module reports no version, like that of mainline Linux")
	}
	return unclear("the version of BBR", "tcp_bbr is not loaded", "sudo modprobe tcp_bbr; version 3 reports itself in /sys/module/tcp_bbr/version")
}

func checkFq(f *Facts) Finding {
	m := f.Module("sch_fq")
	paces := "not required: since " + kernelPacing.String() + " TCP paces by itself"
	if !m.State.OK() {
		return unclear("whether fq is available", m.State.Why, grantModules(f, "sch_fq"))
	}
	if m.State.Value != ModuleAbsent {
		return ok("fq is available (%s); recommended with BBR, %s", m.State.Value, paces)
	}
	if f.NeedsFq() {
		return fail("this kernel has no fq, and before %v nothing else paces", kernelPacing).
			because("BBR without pacing sends bursts").fix(f.newerKernel())
	}
	return ok("this kernel has no fq; it is %s", paces)
}
