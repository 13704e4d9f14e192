package policy

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/tcp/ranges"
	"github.com/congctl/congctl/internal/tcp/record"
)

const (
	// maxAgeWindows keeps window numbers apart, which are stored in 16 bits.
	maxAgeWindows = 1 << 15
	// maxLookbackWindows and maxHistoryWindows bound the memory of one prefix: 4 kB and 48 kB.
	maxLookbackWindows = 64
	maxHistoryWindows  = 4096
)

// faults collects all errors: a user wants all of them at once.
type faults []error

func (f *faults) want(ok bool, field string, value any, fix string) {
	if !ok {
		*f = append(*f, fmt.Errorf("check policy: %s %v: %s", field, value, fix))
	}
}

func (f *faults) share(field string, v float64) {
	f.want(v >= 0 && v <= 1, field, v, "write a share between 0 and 1")
}

// Validate returns all faults, each with field, value and fix. It changes nothing.
func (r Rules) Validate() error {
	var f faults
	r.checkTime(&f)
	f.want(r.MinSamples >= 1, "min_samples", r.MinSamples, "write at least 1 connection")
	f.want(r.GroupShare > 0 && r.GroupShare < 1, "group_share", r.GroupShare, "write a share above 0 and below 1")
	f.want(r.SiteShare > 0 && r.SiteShare <= 1, "site_share", r.SiteShare, "write a share above 0 and at most 1, which bounds nothing")
	f.want(r.MinRanked >= 1, "min_ranked", r.MinRanked, "write at least 1 prefix")
	f.want(r.MinKnown >= 1, "min_known", r.MinKnown, "write at least 1 window")
	f.want(r.HistoryWindows >= r.MinKnown && r.HistoryWindows <= maxHistoryWindows, "history_windows", r.HistoryWindows,
		fmt.Sprintf("write at least min_known, %d, and at most %d", r.MinKnown, maxHistoryWindows))
	f.want(slices.Contains([]string{SelectSlowest, SelectBenefit, SelectAll}, r.Select), "select", r.Select, "write "+SelectBenefit+", "+SelectSlowest+" or "+SelectAll)
	f.want(r.Select != SelectAll || len(r.HoldoutPrefixes)+len(r.AAPrefixes) == 0, "select", r.Select,
		"treats all networks: write what must stay untreated into treatment.never, and leave policy.holdout_prefixes and policy.aa_prefixes empty")
	f.want(!r.Cap || r.Experiment(), "cap", r.Cap, "needs an experiment: write false, or select "+SelectBenefit)
	f.want(!r.Cap || r.Treatment != "", "treatment", r.Treatment, "write the congestion control of the treatment, such as bbr")
	f.want(r.TreatmentVersion >= 0, "treatment_version", r.TreatmentVersion, "write 0, unknown, or the kernel's version of BBR")
	f.share("select_duty", r.SelectDuty)
	f.share("select_flap", r.SelectFlap)
	f.share("release_duty", r.ReleaseDuty)
	f.want(!(r.ReleaseDuty > r.SelectDuty), "release_duty", r.ReleaseDuty,
		fmt.Sprintf("write at most select_duty, %g, or a prefix is released as soon as it is selected", r.SelectDuty))
	f.want(r.MaxNewPerRound >= 0, "max_new_per_round", r.MaxNewPerRound, "write 0 or more prefixes")
	f.want(r.MaxSelected >= 0, "max_selected", r.MaxSelected, "write 0 or more prefixes")
	f.want(r.MaxTracked >= r.MaxSelected && r.MaxTracked >= 1 && r.MaxTracked <= maxRank, "max_tracked", r.MaxTracked,
		fmt.Sprintf("write at least max_selected, %d, and at most %d prefixes", r.MaxSelected, maxRank))
	r.Guards.check(&f)
	r.checkAlways(&f)
	r.checkExperiment(&f)
	return errors.Join(f...)
}

// checkAlways: the plan holds client prefixes, each once, and MaxSelected of them.
func (r Rules) checkAlways(f *faults) {
	seen := map[record.Prefix]bool{}
	for i, l := range r.Always {
		at := fmt.Sprintf("always[%d]", i)
		p, ok := record.PrefixOf(l.Net.Addr())
		f.want(ok && p.Netip() == l.Net, at, l, "write a /24 (IPv4) or /56 (IPv6) without host bits")
		f.want(!seen[p], at, l, "listed twice; keep one")
		f.want(l.Reason != "", at, l, "write the reason after the network")
		seen[p] = true
	}
	n := len(r.Always)
	if r.Select == SelectAll {
		n++
	}
	f.want(n <= max(r.MaxSelected, 0), "always", n, fmt.Sprintf("list at most max_selected, %d, the entry of select all among them", r.MaxSelected))
}

func (r Rules) checkTime(f *faults) {
	w := r.WindowSeconds
	f.want(w >= 1 && w <= 86400, "window_seconds", w, "write 1 to 86400 seconds")
	if w < 1 {
		return
	}
	f.want(r.LookbackSeconds >= w && r.LookbackSeconds%w == 0 && r.LookbackSeconds/w <= maxLookbackWindows,
		"lookback_seconds", r.LookbackSeconds,
		fmt.Sprintf("write a multiple of window_seconds, %d, of at most %d windows", w, maxLookbackWindows))
	f.want(r.MaxAgeSeconds >= r.LookbackSeconds && r.MaxAgeSeconds%w == 0 && r.MaxAgeSeconds/w < maxAgeWindows,
		"max_age_seconds", r.MaxAgeSeconds,
		fmt.Sprintf("write a multiple of window_seconds, %d, at least lookback_seconds, %d, and less than %d windows",
			w, r.LookbackSeconds, maxAgeWindows))
	f.want(int64(r.MinKnown) <= r.maxAge(), "min_known", r.MinKnown,
		fmt.Sprintf("write at most the %d windows of max_age_seconds, or nothing is ever decided", r.maxAge()))
}

func (g Guards) check(f *faults) {
	f.want(g.LowRTTUs >= 0 && !math.IsInf(g.LowRTTUs, 0), "guards.low_rtt_us", g.LowRTTUs, "write 0 or more microseconds")
	f.share("guards.low_rtt_retrans_share", g.LowRTTRetransShare)
	f.want(g.TinyRTTUs >= 0 && !math.IsInf(g.TinyRTTUs, 0), "guards.tiny_rtt_us", g.TinyRTTUs, "write 0 or more microseconds")
	f.share("guards.max_rwnd_share", g.MaxRwndShare)
	f.share("guards.min_busy_share", g.MinBusyShare)
	f.want(g.PolicerSpread >= 0 && !math.IsInf(g.PolicerSpread, 0), "guards.policer_spread", g.PolicerSpread, "write a ratio of 1 or more, or 0 for no policer guard")
	f.share("guards.policer_retrans_share", g.PolicerRetransShare)
	f.want(g.PolicerBurst >= 0 && !math.IsInf(g.PolicerBurst, 0), "guards.policer_burst", g.PolicerBurst, "write a ratio of 0 or more")
	f.share("guards.max_conn_share", g.MaxConnShare)
	f.want(g.MinSharePrefixes >= 1, "guards.min_share_prefixes", g.MinSharePrefixes, "write at least 1 prefix")
	checkRanges(f, "guards.never", Nets(g.Never))
	checkNamed(f, "guards.allow", g.Allow)
}

func checkRanges(f *faults, field string, list []netip.Prefix) {
	for i, p := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		f.want(p.IsValid(), at, p, "write a network such as 203.0.113.0/24")
		f.want(!p.IsValid() || p == p.Masked(), at, p, fmt.Sprintf("host bits set; write %s", p.Masked()))
		f.want(!p.Addr().Is4In6(), at, p, "IPv4-mapped; write it as IPv4")
	}
}

// maxCooldown bounds sums of times, and the cost of a mistake: a year.
const maxCooldown = 365 * 86400

func (r Rules) checkExperiment(f *faults) {
	checkNamed(f, "holdout_prefixes", r.HoldoutPrefixes)
	checkNamed(f, "aa_prefixes", r.AAPrefixes)
	if w := r.WindowSeconds; r.Experiment() && w >= 1 {
		r.Trial.check(f, w)
	}
}

func (t Trial) check(f *faults, w int64) {
	b := t.BlockSeconds
	f.want(b >= 2*w && b%w == 0 && b <= 86400, "trial.block_seconds", b, fmt.Sprintf("write a multiple of window_seconds, %d, of two at least", w))
	f.want(t.WashoutSeconds >= 0 && t.WashoutSeconds < b, "trial.washout_seconds", t.WashoutSeconds, "write seconds, fewer than a block has")
	f.want(t.GroupTrial >= 2 && t.GroupTrial <= 1024, "trial.group_trial", t.GroupTrial, "write 2 to 1024 blocks")
	f.want(t.GroupPromoted >= 2 && t.GroupPromoted <= 1024, "trial.group_promoted", t.GroupPromoted, "write 2 to 1024 blocks")
	if b < 2*w {
		return
	}
	f.want(t.EvidenceSeconds/b >= int64(2*t.longest()) && t.EvidenceSeconds <= maxCooldown,
		"trial.evidence_seconds", t.EvidenceSeconds, fmt.Sprintf("write at least two of the longest groups, %d s", b*int64(2*t.longest())))
	f.want(t.CooldownSeconds >= 0, "trial.cooldown_seconds", t.CooldownSeconds, "write 0 or more seconds")
	f.want(t.MaxCooldownSeconds >= t.CooldownSeconds && t.MaxCooldownSeconds >= 0 && t.MaxCooldownSeconds <= maxCooldown,
		"trial.max_cooldown_seconds", t.MaxCooldownSeconds, fmt.Sprintf("write at least trial.cooldown_seconds, %d, and at most a year", t.CooldownSeconds))
}

// checkNamed: a range that holds no whole client prefix would never take effect, and a
// network that should not be treated would be.
func checkNamed(f *faults, field string, list []netip.Prefix) {
	checkRanges(f, field, list)
	for i, p := range list {
		client, narrow := ranges.Widened(p)
		f.want(!narrow, fmt.Sprintf("%s[%d]", field, i), p, fmt.Sprintf("holds no whole client prefix and never takes effect; write %s", client))
	}
}
