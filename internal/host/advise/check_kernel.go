package advise

import (
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

func checkKernelConfig(f *Facts) Finding {
	c := f.Kernel.Config
	if !c.OK() {
		if m := f.Module(f.module()); m.State.OK() && m.State.Value != ModuleAbsent {
			return ok("no configuration to read (%s), but BBR was found without it", c.Why)
		}
		return unclear("the kernel's configuration", c.Why, grantConfig(f))
	}
	option := "TCP_CONG_" + strings.ToUpper(f.BBR())
	switch c.Value[option] {
	case "y":
		return ok("%s: BBR is built in", f.Kernel.From)
	case "m":
		return ok("%s: BBR is a module", f.Kernel.From)
	}
	return fail("%s: CONFIG_%s is not set", f.Kernel.From, option).
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
	name := f.module()
	m := f.Module(name)
	if !m.State.OK() {
		return unclear("whether the module "+name+" exists", m.State.Why, grantModules(f, name))
	}
	switch m.State.Value {
	case ModuleBuiltin:
		return ok("%s is built into the kernel", name)
	case ModuleLoaded:
		return ok("%s is loaded", name)
	case ModuleLoadable:
		if file, line, stopped := f.KeptOut(name); stopped {
			return fail("%s is on disk, but blocked by %s: %s", name, file, line).
				because("that line keeps the module from being loaded, so BBR cannot be used").
				fix("remove the line, then: sudo modprobe "+name, "put the line back, then: sudo modprobe -r "+name)
		}
		return warn("%s is on disk but not loaded", name).
			because("until then BBR is not among the available congestion controls; the first use by root loads it").
			fix("sudo modprobe "+name, "sudo modprobe -r "+name)
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
	name := f.module()
	m, bars, from := f.Module(name), f.barred(name), f.Loads(name)
	file, line, stopped := f.KeptOut(name)
	switch {
	case m.State.OK() && m.State.Value == ModuleBuiltin:
		return ok("nothing to load: %s is built in", name)
	case !m.State.OK():
		return unclear("whether "+name+" loads at boot", m.State.Why, grantModules(f, name))
	case m.State.Value == ModuleAbsent:
		return fail("nothing to load at boot: there is no module tcp_bbr").
			because("see bbr-module").fix(f.kernelWithBBR())
	case stopped:
		return fail("%s blocks %s: %s", file, name, line).
			because("the module cannot be loaded after a reboot, whatever sysctl.d says").
			fix("remove the line", "put the line back")
	case f.System.Foreign():
		return unclear("whether "+name+" loads at boot", f.System.Applies.Why, f.byHand())
	case from != "" && len(bars) > 0:
		return warn("%s loads %s, but %s has: %s", from, name, bars[0].file, bars[0].line).
			because("systemd-modules-load obeys a blacklist; then only the sysctl setting loads the module, by name").
			fix("remove the line of "+bars[0].file, "put the line back")
	case from == "" && f.misnamedFor(name) != "":
		file := f.misnamedFor(name)
		return warn("nothing reads %s, which names %s: %s", file, name, onlyConf).
			because("in modules-load.d other files are ignored without a word").
			fix("sudo mv "+file+" "+renamed(file), "sudo mv "+renamed(file)+" "+file)
	case IsBBR(f.AfterBoot(KeyCong).Value.Value) && from == "":
		return ok("the sysctl setting loads %s at boot (%s)", name, f.AfterBoot(KeyCong).Value.From)
	case from != "":
		return ok("%s loads %s at boot", from, name)
	}
	return warn("no file in modules-load.d names %s, so only a setting by root loads it", name).
		because("at boot the sysctl setting loads the module if the kernel may call modprobe; an unprivileged program that asks for BBR cannot load it").
		fix("echo "+name+" | sudo tee /etc/modules-load.d/bbr.conf", "sudo rm /etc/modules-load.d/bbr.conf")
}

func checkBBRVersion(f *Facts) Finding {
	name, plain := f.BBR(), f.Module("tcp_bbr")
	switch {
	case name != "bbr":
		return ok("BBR version %d: %s", f.BBRVersion(name), name)
	case plain.State.OK() && plain.State.Value == ModuleAbsent:
		return ok("none: this kernel has no BBR")
	case plain.Version != "":
		return ok("BBR version %s, as /sys/module/tcp_bbr/version says", plain.Version)
	case len(f.versions()) > 1:
		return ok("available: %s; bbr is version 1", strings.Join(f.Cong.Available.Value, " "))
	case f.hasBBR() || plain.State.OK() && plain.State.Value == ModuleLoaded:
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
