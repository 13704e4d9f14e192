package advise

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/answer"
)

func checkCongAfterBoot(f *Facts) Finding {
	b := f.AfterBoot(KeyCong)
	if f.started() {
		return ok("a container gets its default from its host or from a setting when it starts (%s)", f.System.Container)
	}
	if !b.OK() {
		return unclear("the congestion control after a reboot", b.Why, grantFiles(f))
	}
	name := b.Value.Value
	if i := slices.IndexFunc(b.Value.Refused, func(s Setting) bool { return IsBBR(s.Value) }); i >= 0 && !IsBBR(name) {
		return f.lacks(b.Value.Refused[i].at(), b.Value.Refused[i].Value)
	}
	if !IsBBR(name) {
		return fail("after a reboot, new connections will use %s (%s)", b.Value.Value, b.Value.From).
			because("the current setting does not survive a reboot").fix(enableBBR, disable)
	}
	m := f.Module("tcp_" + name)
	if m.State.OK() && m.State.Value == ModuleAbsent {
		return f.lacks(b.Value.From, name)
	}
	if file, line, stopped := f.KeptOut("tcp_" + name); stopped && m.State.Value != ModuleBuiltin {
		return fail("sysctl will set %s at boot, but %s blocks its module", name, file).
			because("the kernel will refuse the setting and keep the old default").fix("remove the line: "+line, "put the line back")
	}
	if now := f.Cong.Current.Value; IsBBR(now) && f.BBRVersion(name) < f.BBRVersion(now) {
		return warn("after a reboot, new connections will use %s (%s), version %d; now they use %s, version %d", name, b.Value.From, f.BBRVersion(name), now, f.BBRVersion(now)).
			because("a boot takes this host back to an older version of BBR").fix(enableBBR+" keeps "+now, disable)
	}
	return ok("after a reboot, new connections will use %s (%s)", name, b.Value.From)
}

// lacks: a setting names a version of BBR that this kernel does not have.
func (f *Facts) lacks(from, name string) Finding {
	found := fail("%s sets %s, but this kernel does not have it", from, name).
		because("the kernel refuses the setting at boot and keeps its own default")
	if f.hasBBR() {
		return found.fix(enableBBR, disable)
	}
	return found.fix(f.kernelWithBBR())
}

// started: nothing boots in a container without an init.
func (f *Facts) started() bool { return f.System.Container != "" && f.System.Init == "none" }

// byHand is for a boot that only its administrator knows.
func (f *Facts) byHand() string {
	return "see after a reboot: sysctl " + KeyCong + "; or have " + f.System.Init + " run at boot: congctl host enable bbr"
}

func grantFiles(f *Facts) string {
	if !f.System.Applies.OK() {
		return f.byHand()
	}
	if f.System.UID != 0 {
		return "run it as root: sudo congctl host check"
	}
	if len(f.Writers) > 0 {
		return "set the same value there, or remove it there"
	}
	return "set it in a file: " + enableBBR
}

func checkQdiscAfterBoot(f *Facts) Finding {
	if No(f.System.InitNetNS) {
		return ok("%s belongs to the host's network namespace, and this is another", KeyQdisc)
	}
	b := f.AfterBoot(KeyQdisc)
	if !b.OK() {
		return unclear("the qdisc of interfaces after a reboot", b.Why, grantFiles(f))
	}
	switch {
	case b.Value.Value == "fq":
		if bars := f.barred("sch_fq"); f.Module("sch_fq").State.Value != ModuleBuiltin && len(bars) > 0 && (bars[0].hard || !f.older(kernelAliased)) {
			return warn("sysctl will set fq at boot, but %s blocks sch_fq: %s", bars[0].file, bars[0].line).
				because("the kernel will refuse the setting and keep its default qdisc").fix("remove the line", "put the line back")
		}
		return ok("after a reboot, interfaces will get fq (%s)", b.Value.From)
	case !f.fqThere():
		return ok("after a reboot, interfaces will get %s (%s); this kernel has no fq, and TCP paces by itself", b.Value.Value, b.Value.From)
	}
	return f.wantFq(fmt.Sprintf("after a reboot, interfaces will get %s (%s)", b.Value.Value, b.Value.From)).
		fix(enableBBR, disable)
}

// checkOverrides finds settings for BBR or fq that are overridden. Other overrides are fine.
func checkOverrides(f *Facts) Finding {
	var lost []string
	n := 0
	for _, key := range []string{KeyCong, KeyQdisc} {
		b := f.AfterBoot(key)
		for _, s := range b.Value.Lost {
			n++
			if IsBBR(s.Value) || s.Value == "fq" {
				lost = append(lost, fmt.Sprintf("%s (%s) is overridden by %s (%s)", s.at(), s.Value, b.Value.From, b.Value.Value))
			}
		}
	}
	if len(lost) == 0 {
		return ok("%s overridden, none of them bbr or fq", answer.Count(n, "setting"))
	}
	return warn("%s", some(lost)).
		because("the last setting wins: files apply in the order of their names, whatever the directory, and scripts come last").
		fix(enableBBR+" writes a file with a later name; remove a line of a script by hand", disable)
}

func short(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

func checkSyntax(f *Facts) Finding {
	applied, unread := f.SysctlOrder()
	_, faults := grammarSystemd.settings(append(applied, unread...))
	if len(faults) == 0 {
		return ok("%s of sysctl settings, all well-formed", answer.Count(len(applied)+len(unread), "file"))
	}
	first, more := faults[0], ""
	if n := len(faults) - 1; n > 0 {
		more = fmt.Sprintf(" (and %s more)", answer.Count(n, "line"))
	}
	return fail("%s:%d: %q: %s%s", first.File, first.Line, first.Text, first.Why, more).
		because("such a line is refused at boot, with a message only in the boot log").
		fix(fmt.Sprintf("sudo editor +%d %s", first.Line, first.File), "")
}

// checkUnread finds settings that nothing reads, although their author expects it.
func checkUnread(f *Facts) Finding {
	if found, is := f.unrun(); is {
		return found
	}
	if found, is := f.misnamed(); is {
		return found
	}
	_, unread := f.SysctlOrder()
	var lost []string
	conf := false
	set, _ := grammarSystemd.settings(unread)
	for _, s := range set {
		if s.sets(KeyCong) || s.sets(KeyQdisc) {
			lost = append(lost, fmt.Sprintf("%s (%s=%s)", s.at(), short(s.Key), s.Value))
			conf = conf || s.File == SysctlConf
		}
	}
	if len(lost) == 0 {
		if _, there := f.Files.Get(SysctlConf); !there {
			return ok("every file with settings is read; there is no %s here, and \"sysctl -p\" without a file does nothing", SysctlConf)
		}
		return ok("no file that sets congestion control or qdisc is left unread")
	}
	if why := f.System.Applies.Why; why != "" {
		return unclear("what reads "+some(lost), why, f.byHand())
	}
	if !f.System.Applies.Value {
		return fail("nothing reads %s", some(lost)).because("nothing sets sysctls at boot: see sysctl-applier").fix(enableBBR, disable)
	}
	if conf {
		return fail("nothing reads %s at boot", some(lost)).
			because("systemd-sysctl reads only the sysctl.d directories: \"sysctl -p\" makes the setting work until the next boot").
			fix("sudo ln -s ../sysctl.conf /etc/sysctl.d/99-sysctl.conf", "sudo rm /etc/sysctl.d/99-sysctl.conf")
	}
	return warn("nothing reads %s", some(lost)).
		because("a file of the same name in a directory of higher precedence masks it").
		fix("give the file a name of its own, or remove it", "give it its old name")
}

// misnamed finds settings in a file whose name no program that reads drop-ins takes.
func (f *Facts) misnamed() (Finding, bool) {
	set, _ := grammarSystemd.settings(f.Files.strays(SysctlDirs))
	for _, s := range set {
		if s.sets(KeyCong) || s.sets(KeyQdisc) {
			return warn("nothing reads %s (%s=%s): %s", s.at(), short(s.Key), s.Value, onlyConf).
				because("in these directories other files are ignored without a word").
				fix("sudo mv "+s.File+" "+renamed(s.File), "sudo mv "+renamed(s.File)+" "+s.File), true
		}
	}
	return Finding{}, false
}

const onlyConf = "only files whose names end in .conf and begin with no dot are read"

func renamed(file string) string {
	return path.Join(path.Dir(file), strings.TrimSuffix(strings.TrimLeft(path.Base(file), "."), ".conf")+".conf")
}

// unrun finds a script that is meant to turn BBR or fq on, and is not run.
func (f *Facts) unrun() (Finding, bool) {
	_, idle := f.scripts()
	for _, script := range idle {
		for _, s := range append(f.scriptSets(script.File, KeyCong), f.scriptSets(script.File, KeyQdisc)...) {
			if IsBBR(s.Value) || s.Value == "fq" {
				return warn("no boot runs %s (%s=%s): %s", s.at(), short(s.Key), s.Value, script.why).
					because("it works when run by hand, but does not survive a reboot").fix(script.fix, script.undo), true
			}
		}
	}
	return Finding{}, false
}

func checkApplier(f *Facts) Finding {
	s := f.System
	switch {
	case s.Applies.Value:
		return ok("systemd-sysctl sets sysctls at boot (init: %s)", s.Init)
	case !s.Applies.OK():
		return unclear("what sets sysctls at boot", s.Applies.Why, f.byHand())
	case s.Container != "" && s.Init == "none":
		return ok("nothing sets sysctls when this container starts (%s); pass them when you start it", s.Container)
	}
	return fail("found nothing that sets sysctls at boot (init: %s)", s.Init).
		because("files in sysctl.d have no effect").
		fix("call \"sysctl -p FILE\" from what runs at boot (rc.local); "+enableBBR+" does", disable)
}
