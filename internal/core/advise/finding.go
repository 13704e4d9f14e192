package advise

import "fmt"

// Verdict is what a finding comes to.
type Verdict string

// Verdicts. Only warn and fail are findings; unknown is neither good nor bad.
const (
	OK      Verdict = "ok"
	Warn    Verdict = "warn" // BBR runs, or will; something makes less of it than it could
	Fail    Verdict = "fail" // BBR does not run, or will not after a boot
	Unclear Verdict = "unknown"
)

// Finding is one judged fact.
type Finding struct {
	ID      string  `json:"id"` // stable: "default-qdisc"
	Verdict Verdict `json:"verdict"`
	Fact    string  `json:"fact"`
	Why     string  `json:"why,omitempty"`  // why it matters; "" where it is ok
	Fix     string  `json:"fix,omitempty"`  // a command, or words where no command can do it
	Undo    string  `json:"undo,omitempty"` // of the fix
}

func ok(id, format string, args ...any) Finding {
	return Finding{ID: id, Verdict: OK, Fact: fmt.Sprintf(format, args...)}
}

func warn(id, format string, args ...any) Finding {
	return Finding{ID: id, Verdict: Warn, Fact: fmt.Sprintf(format, args...)}
}

func fail(id, format string, args ...any) Finding {
	return Finding{ID: id, Verdict: Fail, Fact: fmt.Sprintf(format, args...)}
}

// unclear is a finding that cannot be told, with what is missing and who can grant it.
func unclear(id, what, why, grant string) Finding {
	return Finding{ID: id, Verdict: Unclear, Fact: what + " is unknown: " + why, Fix: grant}
}

func (f Finding) because(why string) Finding { f.Why = why; return f }

func (f Finding) fix(command, undo string) Finding { f.Fix, f.Undo = command, undo; return f }

// checks are all findings, in the order of the table: what the kernel has, what is set
// now, what will be set after a boot, what lives, what disturbs.
var checks = []func(*Facts) Finding{
	checkKernelVersion, checkKernelConfig, checkModule, checkAutoload, checkBBRVersion, checkFq,
	checkContainer, checkMayChange,
	checkAvailable, checkCurrent, checkAllowed, checkSpaces,
	checkDefaultQdisc, checkLiveQdiscs, checkMq, checkShapers, checkNetem, checkFqDrops, checkOffloads,
	checkCongAfterBoot, checkQdiscAfterBoot, checkOverrides, checkSyntax, checkUnread, checkApplier,
	checkNetworkd, checkKeyfiles, checkTuned,
	checkConnections, checkPacing, checkSendBuffer, checkMetrics,
	checkSteal, checkRunQueue, checkSockOps, checkCgroup, checkBTF, checkLoop,
}

// Check judges a host. Each check gives exactly one finding, so that two reports of a
// host have the same lines.
func Check(f *Facts) []Finding {
	var list []Finding
	for _, check := range checks {
		list = append(list, check(f))
	}
	return list
}

// Count counts the findings of a verdict.
func Count(list []Finding, v Verdict) (n int) {
	for _, f := range list {
		if f.Verdict == v {
			n++
		}
	}
	return n
}
