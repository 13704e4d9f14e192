package advise

import (
	"fmt"
	"strings"
)

func checkCongAfterBoot(f *Facts) Finding {
	const id = "boot-cong"
	b := f.AfterBoot(KeyCong)
	if f.started() {
		return ok(id, "a container takes its default over from its host when it is started, or is given one (%s)", f.System.Container)
	}
	if !b.OK() {
		return unclear(id, "the congestion control after a boot", b.Why, grantFiles(f))
	}
	if b.Value.Value != "bbr" {
		return fail(id, "after a boot new connections will use %s (%s)", b.Value.Value, b.Value.From).
			because("what is set now is gone then").fix(enableBBR, disable)
	}
	m := f.Module("tcp_bbr")
	if m.State.OK() && m.State.Value == ModuleAbsent {
		return fail(id, "%s sets bbr, and this kernel has none", b.Value.From).
			because("the setting is refused at boot, and the kernel's own default stays").fix(f.kernelWithBBR())
	}
	if b, stopped := hardBar(f.barred("tcp_bbr")); stopped && m.State.Value != ModuleBuiltin {
		return fail(id, "sysctl will set bbr after a boot, and %s keeps its module out", b.file).
			because("the setting will be refused, and the old default stays").fix("remove the line: "+b.line, "put the line back")
	}
	return ok(id, "after a boot new connections will use bbr (%s)", b.Value.From)
}

// started: nothing boots in here.
func (f *Facts) started() bool { return f.System.Container != "" && f.System.Init == "none" }

func grantFiles(f *Facts) string {
	if f.System.UID != 0 {
		return "root can: sudo congctl host check"
	}
	return "whoever built the kernel, or a file that sets it: " + enableBBR
}

func checkQdiscAfterBoot(f *Facts) Finding {
	const id = "boot-qdisc"
	if known(f.System.InitNetNS) == no {
		return ok(id, "%s belongs to the first network namespace, and this is another", KeyQdisc)
	}
	b := f.AfterBoot(KeyQdisc)
	if !b.OK() {
		return unclear(id, "the qdisc of interfaces after a boot", b.Why, grantFiles(f))
	}
	switch {
	case b.Value.Value == "fq":
		if bars := f.barred("sch_fq"); f.Module("sch_fq").State.Value != ModuleBuiltin && len(bars) > 0 && (bars[0].hard || !f.older(kernelAliased)) {
			return warn(id, "sysctl will set fq after a boot, and %s keeps sch_fq out: %s", bars[0].file, bars[0].line).
				because("the setting will be refused, and the kernel's default qdisc stays").fix("remove the line", "put the line back")
		}
		return ok(id, "after a boot interfaces will get fq (%s)", b.Value.From)
	case !f.fqThere():
		return ok(id, "after a boot interfaces will get %s (%s); this kernel has no fq, and TCP paces by itself", b.Value.Value, b.Value.From)
	}
	return f.wantFq(id, fmt.Sprintf("after a boot interfaces will get %s (%s)", b.Value.Value, b.Value.From)).
		fix(enableBBR, disable)
}

// checkOverrides finds who wanted BBR or fq and lost. That others lose is as it should be.
func checkOverrides(f *Facts) Finding {
	const id = "sysctl-overrides"
	var lost []string
	n := 0
	for _, key := range []string{KeyCong, KeyQdisc} {
		b := f.AfterBoot(key)
		for _, s := range b.Value.Lost {
			n++
			if s.Value == "bbr" || s.Value == "fq" {
				lost = append(lost, fmt.Sprintf("%s (%s) loses against %s (%s)", s.at(), s.Value, b.Value.From, b.Value.Value))
			}
		}
	}
	if len(lost) == 0 {
		return ok(id, "%s of another value are overridden, none of bbr or fq", plural(n, "setting", "settings"))
	}
	return warn(id, "%s", some(lost)).
		because("the last one counts, by the file's name whatever its directory, and scripts come after all files").
		fix(enableBBR+" writes a file with a later name; a line of a script has to be removed by hand", disable)
}

func short(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

func checkSyntax(f *Facts) Finding {
	const id = "sysctl-syntax"
	applied, unread := f.SysctlOrder()
	var first *SyntaxFault
	n := 0
	for _, file := range append(applied, unread...) {
		_, faults := ParseSysctl(file.Path, file.Text)
		n += len(faults)
		if len(faults) > 0 && first == nil {
			first = &faults[0]
		}
	}
	if first == nil {
		return ok(id, "%s of sysctl settings, all as they must be", plural(len(applied)+len(unread), "file", "files"))
	}
	more := ""
	if n > 1 {
		more = fmt.Sprintf(" (and %s more)", plural(n-1, "line", "lines"))
	}
	return fail(id, "%s:%d: %q: %s%s", first.File, first.Line, first.Text, first.Why, more).
		because("such a line is refused at boot, with a message that nobody sees").
		fix(fmt.Sprintf("sudo editor +%d %s", first.Line, first.File), "")
}

// checkUnread finds settings that their author believes in and nothing reads.
func checkUnread(f *Facts) Finding {
	const id = "sysctl-unread"
	if found, is := f.unrun(id); is {
		return found
	}
	_, unread := f.SysctlOrder()
	var lost []string
	conf := false
	for _, file := range unread {
		set, _ := ParseSysctl(file.Path, file.Text)
		for _, s := range set {
			if s.sets(KeyCong) || s.sets(KeyQdisc) {
				lost = append(lost, fmt.Sprintf("%s (%s=%s)", s.at(), short(s.Key), s.Value))
				conf = conf || file.Path == SysctlConf
			}
		}
	}
	if len(lost) == 0 {
		if _, there := f.Files.Get(SysctlConf); !there {
			return ok(id, "no setting lies unread; there is no %s here, and \"sysctl -p\" without a file does nothing", SysctlConf)
		}
		return ok(id, "no setting of the congestion control or qdisc lies unread")
	}
	if f.System.Applier == "" {
		return fail(id, "nothing reads %s", some(lost)).because("nothing sets sysctls at boot: see sysctl-applier").fix(enableBBR, disable)
	}
	if conf {
		return fail(id, "nothing reads %s at boot", some(lost)).
			because("systemd-sysctl reads only the sysctl.d directories: \"sysctl -p\" makes the setting work until the next boot").
			fix("sudo ln -s ../sysctl.conf /etc/sysctl.d/99-sysctl.conf", "sudo rm /etc/sysctl.d/99-sysctl.conf")
	}
	return warn(id, "nothing reads %s", some(lost)).
		because("a file of the same name in a directory that comes first masks it").
		fix("give the file a name of its own, or remove it", "give it its old name")
}

// unrun finds a script that is meant to turn BBR or fq on, and is not run.
func (f *Facts) unrun(id string) (Finding, bool) {
	_, idle := f.scripts()
	for _, script := range idle {
		for key, want := range map[string]string{KeyCong: "bbr", KeyQdisc: "fq"} {
			for _, s := range f.scriptSets(script.File, key) {
				if s.Value == want {
					return warn(id, "no boot runs %s (%s=%s): %s", s.at(), short(key), want, script.why).
						because("it works when it is run by hand, and is gone after a boot").fix(script.fix, script.undo), true
				}
			}
		}
	}
	return Finding{}, false
}

func checkApplier(f *Facts) Finding {
	const id = "sysctl-applier"
	s := f.System
	switch {
	case s.Applier != "":
		return ok(id, "%s sets sysctls at boot (init: %s)", s.Applier, s.Init)
	case s.Container != "" && s.Init == "none":
		return ok(id, "nothing sets sysctls at the start of this container (%s): whoever starts it does", s.Container)
	case s.Init == "openrc":
		return fail(id, "nothing sets sysctls at boot: OpenRC's service sysctl is not in the runlevel boot").
			because("files of sysctl.d stay without effect").fix("sudo rc-update add sysctl boot", "sudo rc-update del sysctl boot")
	}
	return fail(id, "nothing was found that sets sysctls at boot (init: %s)", s.Init).
		because("files of sysctl.d stay without effect").
		fix("call \"sysctl -p FILE\" from what runs at boot (rc.local); "+enableBBR+" does", disable)
}
