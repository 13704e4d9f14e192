package advise

import "fmt"

// Verdict is a finding's result.
type Verdict string

// Verdicts. Only warn and fail are findings; unknown is neither good nor bad.
const (
	OK      Verdict = "ok"
	Warn    Verdict = "warn" // BBR runs, or will, but not as well as it could
	Fail    Verdict = "fail" // BBR does not run, or will not after a boot
	Unclear Verdict = "unknown"
)

// Finding is one judged fact.
type Finding struct {
	ID      string  `json:"id"` // stable: "default-qdisc"
	Verdict Verdict `json:"verdict"`
	Fact    string  `json:"fact"`
	Why     string  `json:"why,omitempty"`  // why it matters; "" if ok
	Fix     string  `json:"fix,omitempty"`  // a command, or words where no command can do it
	Undo    string  `json:"undo,omitempty"` // of the fix
}

func verdict(v Verdict, format string, args ...any) Finding {
	return Finding{Verdict: v, Fact: fmt.Sprintf(format, args...)}
}

func ok(format string, args ...any) Finding { return verdict(OK, format, args...) }

func warn(format string, args ...any) Finding { return verdict(Warn, format, args...) }

func fail(format string, args ...any) Finding { return verdict(Fail, format, args...) }

// unclear returns an undecidable finding, with what is missing and who can grant it.
func unclear(what, why, grant string) Finding {
	return Finding{Verdict: Unclear, Fact: what + " is unknown: " + why, Fix: grant}
}

func (f Finding) because(why string) Finding { f.Why = why; return f }

func (f Finding) fix(command, undo string) Finding { f.Fix, f.Undo = command, undo; return f }

// checks are all findings, in the order of the table: what the kernel has, the present
// settings, those after a boot, live connections, disturbances.
var checks = []struct {
	id    string
	judge func(*Facts) Finding
}{
	{"kernel-version", checkKernelVersion}, {"kernel-config", checkKernelConfig}, {"bbr-module", checkModule},
	{"bbr-autoload", checkAutoload}, {"bbr-version", checkBBRVersion}, {"fq-module", checkFq},
	{"container", checkContainer}, {"may-change", checkMayChange},
	{"cong-available", checkAvailable}, {"cong-current", checkCurrent}, {"cong-allowed", checkAllowed},
	{"namespaces", checkSpaces},
	{"default-qdisc", checkDefaultQdisc}, {"live-qdiscs", checkLiveQdiscs}, {"mq-root", checkMq},
	{"shaper-order", checkShapers}, {"netem-left", checkNetem}, {"fq-drops", checkFqDrops},
	{"offloads", checkOffloads},
	{"boot-cong", checkCongAfterBoot}, {"boot-qdisc", checkQdiscAfterBoot},
	{"sysctl-overrides", ofSystemd("which settings a boot overrides", checkOverrides)},
	{"sysctl-syntax", ofSystemd("how a boot reads files of settings", checkSyntax)},
	{"sysctl-unread", ofSystemd("which files of settings a boot reads", checkUnread)}, {"sysctl-applier", checkApplier},
	{"networkd-qdisc", checkNetworkd}, {"networkmanager-qdisc", checkKeyfiles}, {"tuned", checkTuned},
	{"connections", checkConnections}, {"pacing", checkPacing}, {"send-buffer", checkSendBuffer},
	{"metrics-cache", checkMetrics},
	{"cpu-steal", checkSteal}, {"cpu-queue", checkRunQueue}, {"sock-ops", checkSockOps},
	{"cgroup2", checkCgroup}, {"btf", checkBTF}, {"loop-tier", checkLoop},
}

// ofSystemd is a check of what systemd does at boot: where another init boots the host, it is unknown.
func ofSystemd(what string, judge func(*Facts) Finding) func(*Facts) Finding {
	return func(f *Facts) Finding {
		if f.System.Foreign() {
			return unclear(what, f.System.Applies.Why, f.byHand())
		}
		return judge(f)
	}
}

// Check judges a host. Each check returns exactly one finding, so that two reports of a host
// have the same lines.
func Check(f *Facts) []Finding {
	var list []Finding
	for _, check := range checks {
		found := check.judge(f)
		found.ID = check.id
		list = append(list, found)
	}
	return list
}
