package policy

import (
	"fmt"
	"net/netip"

	"github.com/congctl/congctl/internal/core/ranges"
)

// maxCooldown bounds sums of times, and what a mistake can cost: a year.
const maxCooldown = 365 * 86400

func (r Rules) checkExperiment(f *faults) {
	checkNamed(f, "holdout_prefixes", r.HoldoutPrefixes)
	checkNamed(f, "aa_prefixes", r.AAPrefixes)
	if w := r.WindowSeconds; r.Trial.On && w >= 1 {
		r.Trial.check(f, w)
	}
}

func (t Trial) check(f *faults, w int64) {
	b := t.BlockSeconds
	f.want(b >= 2*w && b%w == 0 && b <= 86400, "trial.block_seconds", b, fmt.Sprintf("write a multiple of window_seconds, %d, of two at least", w))
	f.want(t.WashoutSeconds >= 0 && t.WashoutSeconds%w == 0 && t.WashoutSeconds < b, "trial.washout_seconds", t.WashoutSeconds,
		fmt.Sprintf("write a multiple of window_seconds, %d, shorter than a block", w))
	f.want(t.GroupTrial >= 2 && t.GroupTrial <= 1024, "trial.group_trial", t.GroupTrial, "write 2 to 1024 blocks")
	f.want(t.GroupPromoted >= 2 && t.GroupPromoted <= 1024, "trial.group_promoted", t.GroupPromoted, "write 2 to 1024 blocks")
	f.want(t.FalseShare > 0 && t.FalseShare < 1, "trial.false_share", t.FalseShare, "write a share above 0 and below 1")
	if b < 2*w {
		return
	}
	f.want(t.BudgetSeconds/b >= int64(2*t.GroupTrial), "trial.budget_seconds", t.BudgetSeconds,
		fmt.Sprintf("write at least two groups, %d s, or no trial can show anything", b*int64(2*t.GroupTrial)))
	f.want(t.EvidenceSeconds >= t.BudgetSeconds && t.EvidenceSeconds/b >= int64(2*t.GroupPromoted) && t.EvidenceSeconds <= maxCooldown,
		"trial.evidence_seconds", t.EvidenceSeconds, fmt.Sprintf("write at least trial.budget_seconds, and two groups of a promoted prefix, %d s", b*int64(2*t.GroupPromoted)))
	f.want(t.CooldownSeconds >= 0, "trial.cooldown_seconds", t.CooldownSeconds, "write 0 or more seconds")
	f.want(t.MaxCooldownSeconds >= t.CooldownSeconds && t.MaxCooldownSeconds >= 0 && t.MaxCooldownSeconds <= maxCooldown,
		"trial.max_cooldown_seconds", t.MaxCooldownSeconds, fmt.Sprintf("write at least trial.cooldown_seconds, %d, and at most a year", t.CooldownSeconds))
	f.want(t.SecondLookSeconds >= 2*b && t.SecondLookSeconds <= maxCooldown, "trial.second_look_seconds", t.SecondLookSeconds,
		fmt.Sprintf("write at least two blocks, %d s", 2*b))
}

// checkNamed: a range that holds no whole client prefix would never take effect,
// and somebody who should not be treated would be.
func checkNamed(f *faults, field string, list []netip.Prefix) {
	checkRanges(f, field, list)
	for i, p := range list {
		client, narrow := ranges.Widened(p)
		f.want(!narrow, fmt.Sprintf("%s[%d]", field, i), p, fmt.Sprintf("holds no whole client prefix and never takes effect; write %s", client))
	}
}
