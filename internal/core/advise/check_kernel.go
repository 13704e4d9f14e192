package advise

import (
	"slices"
	"strings"
)

// The two commands that change a host, and take the change back.
const (
	enableBBR = "sudo congctl host enable bbr"
	disable   = "sudo congctl host disable"
)

func checkKernelVersion(f *Facts) Finding {
	const id = "kernel-version"
	v, known := parseRelease(f.Kernel.Release)
	switch {
	case !known:
		return unclear(id, "the kernel's version", "release "+quote(f.Kernel.Release)+" is not a number", "whoever built the kernel")
	case f.hasBBR():
		if v.before(kernelPacing) {
			return warn(id, "Linux %s: before %v BBR is paced by fq alone", f.Kernel.Release, kernelPacing).
				because("on an interface without fq BBR sends bursts and finds a wrong rate").
				fix(f.newerKernel())
		}
		return ok(id, "Linux %s: has BBR, and TCP paces by itself (%v and later)", f.Kernel.Release, kernelPacing)
	case v.before(kernelBBR):
		return fail(id, "Linux %s is older than %v: there is no BBR in it", f.Kernel.Release, kernelBBR).
			because("a newer kernel of the distribution comes with its updates; one built by hand has to be kept up to date by hand").
			fix(f.newerKernel())
	}
	return ok(id, "Linux %s: new enough for BBR (%v)", f.Kernel.Release, kernelBBR)
}

// hasBBR: some kernels of distributions have it earlier than the version says.
func (f *Facts) hasBBR() bool { return slices.Contains(f.Cong.Available.Value, "bbr") }

func quote(s string) string { return `"` + s + `"` }

func checkKernelConfig(f *Facts) Finding {
	const id = "kernel-config"
	c := f.Kernel.Config
	if !c.OK() {
		if m := f.Module("tcp_bbr"); m.State.OK() && m.State.Value != ModuleAbsent {
			return ok(id, "no configuration to read (%s), and none is needed: BBR was found in another way", c.Why)
		}
		return unclear(id, "the kernel's configuration", c.Why, grantConfig(f))
	}
	switch c.Value["TCP_CONG_BBR"] {
	case "y":
		return ok(id, "%s: BBR is built in", f.Kernel.From)
	case "m":
		return ok(id, "%s: BBR is a module", f.Kernel.From)
	}
	return fail(id, "%s: CONFIG_TCP_CONG_BBR is not set", f.Kernel.From).
		because("this kernel was built without BBR: no setting brings it in").
		fix(f.kernelWithBBR())
}

// kernelWithBBR: a distribution's newer kernel first, as old ones of several
// distributions were built without BBR and their successors with it.
func (f *Facts) kernelWithBBR() (fix, undo string) {
	d := f.System.Distro
	if !f.older(kernelPacing) && (d.ID == "poky" || strings.Contains(d.Like, "poky")) {
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
		return "root can: sudo congctl host check"
	}
	return "whoever built the kernel, with CONFIG_IKCONFIG_PROC or a file /boot/config-" + f.Kernel.Release
}

func checkModule(f *Facts) Finding {
	const id = "bbr-module"
	m := f.Module("tcp_bbr")
	if !m.State.OK() {
		return unclear(id, "whether there is a module tcp_bbr", m.State.Why, grantModules(f, "tcp_bbr"))
	}
	switch m.State.Value {
	case ModuleBuiltin:
		return ok(id, "tcp_bbr is built into the kernel")
	case ModuleLoaded:
		return ok(id, "tcp_bbr is loaded")
	case ModuleLoadable:
		if b, stopped := hardBar(f.barred("tcp_bbr")); stopped {
			return fail(id, "tcp_bbr is on disk and kept out by %s: %s", b.file, b.line).
				because("with that line nothing can load the module: BBR cannot be chosen").
				fix("remove the line, then: sudo modprobe tcp_bbr", "put the line back, then: sudo modprobe -r tcp_bbr")
		}
		return warn(id, "tcp_bbr is on disk and not loaded").
			because("until it is, BBR is not among the available congestion controls; root's first choice of it loads it").
			fix("sudo modprobe tcp_bbr", "sudo modprobe -r tcp_bbr")
	}
	return fail(id, "there is no module tcp_bbr for Linux %s", f.Kernel.Release).
		because("this kernel was built without BBR, or the package with its further modules is not installed").
		fix(f.kernelWithBBR())
}

func grantModules(f *Facts, module string) string {
	if f.System.Container != "" {
		return "whoever runs the host: modprobe " + module + ", there; or /lib/modules mounted in here, to tell"
	}
	return "boot the kernel that is installed, or install the modules of this one below /lib/modules/" + f.Kernel.Release
}

// checkAutoload asks whether the module will be there when the setting is made at boot.
func checkAutoload(f *Facts) Finding {
	const id = "bbr-autoload"
	m := f.Module("tcp_bbr")
	bars := f.barred("tcp_bbr")
	from := f.Loads("tcp_bbr")
	hard, stopped := hardBar(bars)
	switch {
	case m.State.OK() && m.State.Value == ModuleBuiltin:
		return ok(id, "nothing to load: tcp_bbr is built in")
	case !m.State.OK():
		return unclear(id, "whether tcp_bbr loads at boot", m.State.Why, grantModules(f, "tcp_bbr"))
	case m.State.Value == ModuleAbsent:
		return fail(id, "nothing to load at boot: there is no module tcp_bbr").
			because("see bbr-module").fix(f.kernelWithBBR())
	case stopped:
		return fail(id, "%s keeps tcp_bbr out: %s", hard.file, hard.line).
			because("the module will not be there after a boot, whatever sysctl.d says").
			fix("remove the line", "put the line back")
	case from != "" && len(bars) > 0:
		return warn(id, "%s loads tcp_bbr and %s has: %s", from, bars[0].file, bars[0].line).
			because("systemd-modules-load obeys a blacklist; only the setting itself then loads the module, by name").
			fix("remove the line of "+bars[0].file, "put the line back")
	case f.AfterBoot(KeyCong).Value.Value == "bbr" && from == "":
		return ok(id, "the setting itself loads tcp_bbr at boot (%s)", f.AfterBoot(KeyCong).Value.From)
	case from != "":
		return ok(id, "%s loads tcp_bbr at boot", from)
	}
	return warn(id, "no file of modules-load.d names tcp_bbr: it loads only when root sets it").
		because("at boot the setting loads the module by itself where the kernel may call modprobe; a program that asks for BBR without privilege cannot").
		fix("echo tcp_bbr | sudo tee /etc/modules-load.d/bbr.conf", "sudo rm /etc/modules-load.d/bbr.conf")
}

func checkBBRVersion(f *Facts) Finding {
	const id = "bbr-version"
	m := f.Module("tcp_bbr")
	switch {
	case m.State.OK() && m.State.Value == ModuleAbsent:
		return ok(id, "none: this kernel has no BBR")
	case m.Version != "":
		return ok(id, "BBR version %s, as /sys/module/tcp_bbr/version says", m.Version)
	case slices.ContainsFunc(f.Cong.Available.Value, func(c string) bool { return c == "bbr2" || c == "bbr3" }):
		return ok(id, "available: %s; what is called bbr is version 1", strings.Join(f.Cong.Available.Value, " "))
	case f.hasBBR() || m.State.OK() && m.State.Value == ModuleLoaded:
		return ok(id, "BBR version 1: the module tells no version, as that of Linux itself")
	}
	return unclear(id, "the version of BBR", "tcp_bbr is not loaded", "sudo modprobe tcp_bbr; version 3 tells itself in /sys/module/tcp_bbr/version")
}

func checkFq(f *Facts) Finding {
	const id = "fq-module"
	m := f.Module("sch_fq")
	paces := "not required: since " + kernelPacing.String() + " TCP paces by itself"
	if !m.State.OK() {
		return unclear(id, "whether there is fq", m.State.Why, grantModules(f, "sch_fq"))
	}
	if m.State.Value != ModuleAbsent {
		return ok(id, "fq is there (%s); recommended with BBR, %s", m.State.Value, paces)
	}
	if f.older(kernelPacing) {
		return fail(id, "this kernel has no fq, and before %v nothing else paces", kernelPacing).
			because("BBR without pacing sends bursts").fix(f.newerKernel())
	}
	return ok(id, "this kernel has no fq; it is %s", paces)
}
