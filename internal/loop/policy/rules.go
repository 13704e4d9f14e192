package policy

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Rules are all numbers of the policy for one PoP. Durations do not follow WindowSeconds by
// themselves: change them along with the window. docs/policy.md explains each default at
// more length.
type Rules struct {
	WindowSeconds int64 `yaml:"window_seconds" json:"window_seconds"`

	// Level: the performance of a prefix in a window.
	MinSamples      int     `yaml:"min_samples" json:"min_samples"`           // eligible control connections that make a performance
	LookbackSeconds int64   `yaml:"lookback_seconds" json:"lookback_seconds"` // how far a short window borrows, and how far guards look
	GroupShare      float64 `yaml:"group_share" json:"group_share"`           // the group: performance up to this quantile of the ranked
	SiteShare       float64 `yaml:"site_share" json:"site_share"`             // of what is ranked, or on trial: at most this much in one site, or twice an even share
	MinRanked       int     `yaml:"min_ranked" json:"min_ranked"`             // prefixes; with fewer to rank, none is in the group

	// History.
	HistoryWindows int   `yaml:"history_windows" json:"history_windows"` // known windows kept for a prefix
	MaxAgeSeconds  int64 `yaml:"max_age_seconds" json:"max_age_seconds"` // nothing older counts; a prefix silent for longer is forgotten
	MinKnown       int   `yaml:"min_known" json:"min_known"`             // known windows below which nothing is decided, neither in nor out; by benefit at most knownByBenefit

	// Selection. The shares of duty and flap are of SelectSlowest.
	Select         string  `yaml:"select" json:"select"`                       // SelectSlowest, SelectBenefit or SelectAll
	SelectDuty     float64 `yaml:"select_duty" json:"select_duty"`             // at least this share of the known windows in the group
	SelectFlap     float64 `yaml:"select_flap" json:"select_flap"`             // at most this share of changes
	ReleaseDuty    float64 `yaml:"release_duty" json:"release_duty"`           // below this share a selected prefix leaves
	MaxNewPerRound int     `yaml:"max_new_per_round" json:"max_new_per_round"` // prefixes
	MaxSelected    int     `yaml:"max_selected" json:"max_selected"`           // prefixes
	MaxTracked     int     `yaml:"max_tracked" json:"max_tracked"`             // prefixes in memory

	// The pacing cap.
	Cap       bool   `yaml:"cap" json:"cap"`             // hold treated connections a little above the rate that they have shown to get
	Treatment string `yaml:"treatment" json:"treatment"` // congestion control of the connections that teach it

	// TreatmentVersion is the kernel's: version 3 of BBR, too, has the name bbr. 0 is version 1, or unknown.
	TreatmentVersion int `yaml:"treatment_version" json:"treatment_version,omitzero"`

	Guards Guards `yaml:"guards" json:"guards"`

	// What the operator knows already.
	Always       []Listed `yaml:"always" json:"always,omitempty"`             // client prefixes that are treated whatever is measured
	Uncontrolled bool     `yaml:"uncontrolled" json:"uncontrolled,omitempty"` // those of Always have no control blocks

	// The experiment.
	HoldoutPrefixes []netip.Prefix `yaml:"holdout_prefixes" json:"holdout_prefixes,omitempty"` // never treated, besides those that are drawn
	AAPrefixes      []netip.Prefix `yaml:"aa_prefixes" json:"aa_prefixes,omitempty"`           // judged as if treated, and not treated
	Trial           Trial          `yaml:"trial" json:"trial,omitzero"`
}

// Trial is the experiment's numbers. SelectSlowest has GroupPromoted and the blocks alone.
type Trial struct {
	BlockSeconds   int64 `yaml:"block_seconds" json:"block_seconds"`     // all treatment or all control
	WashoutSeconds int64 `yaml:"washout_seconds" json:"washout_seconds"` // the start of a block: what crosses in it never counts
	GroupTrial     int   `yaml:"group_trial" json:"group_trial"`         // blocks in a group on trial; one is control
	GroupPromoted  int   `yaml:"group_promoted" json:"group_promoted"`   // the same once promoted

	CooldownSeconds    int64 `yaml:"cooldown_seconds" json:"cooldown_seconds"`         // after the first retirement; doubled at each one in a row
	MaxCooldownSeconds int64 `yaml:"max_cooldown_seconds" json:"max_cooldown_seconds"` // and at most this
	EvidenceSeconds    int64 `yaml:"evidence_seconds" json:"evidence_seconds"`         // older pairs no longer count
}

// Guards are the conditions under which a slow prefix is still not treated.
type Guards struct {
	LowRTT             bool    `yaml:"low_rtt" json:"low_rtt"`                             // whether the next three hold
	LowRTTUs           float64 `yaml:"low_rtt_us" json:"low_rtt_us"`                       // median min_rtt below this, microseconds, and
	LowRTTRetransShare float64 `yaml:"low_rtt_retrans_share" json:"low_rtt_retrans_share"` // retransmitted share below this
	TinyRTTUs          float64 `yaml:"tiny_rtt_us" json:"tiny_rtt_us"`                     // median min_rtt below this, microseconds, whatever is retransmitted

	MaxRwndShare float64 `yaml:"max_rwnd_share" json:"max_rwnd_share"` // receive-window-limited share of busy time above this
	MinBusyShare float64 `yaml:"min_busy_share" json:"min_busy_share"` // busy share of the time below this

	// A policer: a rate that is flat, and losses that come in bursts. All three must hold.
	PolicerSpread       float64 `yaml:"policer_spread" json:"policer_spread"`               // highest p80 over lowest p20 of the rate, at most
	PolicerRetransShare float64 `yaml:"policer_retrans_share" json:"policer_retrans_share"` // at least
	PolicerBurst        float64 `yaml:"policer_burst" json:"policer_burst"`                 // packets in flight over what single losses would leave, at least

	MaxConnShare     float64 `yaml:"max_conn_share" json:"max_conn_share"`         // share of all connections of a window above this
	MinSharePrefixes int     `yaml:"min_share_prefixes" json:"min_share_prefixes"` // prefixes in a window below which shares mean nothing

	Never []Listed       `yaml:"never" json:"never,omitempty"` // client prefixes that overlap one are never treated
	Allow []netip.Prefix `yaml:"allow" json:"allow"`           // client prefixes inside one are exempt from Never, special ranges and MaxConnShare
}

// DefaultRules returns the rules for windows of 300 s and a treatment whose gains are known.
func DefaultRules() Rules {
	return Rules{
		WindowSeconds:   300,
		MinSamples:      5,         // connections: below it a median is one connection's luck; more would leave most prefixes unknown
		LookbackSeconds: 30 * 60,   // s: six windows; raises the prefixes that reach MinKnown from 43 to 87 % in simulation
		GroupShare:      0.20,      // the slowest fifth
		SiteShare:       0.02,      // a tenth of the group: one site cannot push another network across the boundary
		MinRanked:       20,        // prefixes: the fifth of fewer than 20 is three or none
		HistoryWindows:  36,        // windows: three hours of a prefix that is always known
		MaxAgeSeconds:   24 * 3600, // s: a day back the hour, and so the load, is the same
		MinKnown:        12,        // windows: one hour; a duty cycle over fewer hangs on one block
		Select:          SelectBenefit,
		SelectDuty:      0.8,     // slow most of the time, with room for 7 better windows of 36
		SelectFlap:      0.2,     // rarely in and out: at most 7 changes in 36
		ReleaseDuty:     0.5,     // well below SelectDuty, so that one bad window does not turn a decision round
		MaxNewPerRound:  25,      // prefixes: a ramp; the first plan is not a burst
		MaxSelected:     500,     // prefixes: limits a fault of the policy to a fraction of the traffic
		MaxTracked:      200_000, // prefixes: under 300 MB at the worst, so an IPv6 flood cannot grow memory
		Cap:             true,
		Treatment:       "bbr",
		Guards:          defaultGuards(),
		Trial:           DefaultTrial(),
	}
}

func defaultGuards() Guards {
	return Guards{
		LowRTT:              true,
		LowRTTUs:            5000,  // us: within a metro network, where BBR was seen to do worse than CUBIC
		LowRTTRetransShare:  0.001, // 0.1 %: with so few losses, loss is not what slows it
		TinyRTTUs:           1000,  // us: a back office or the same building
		MaxRwndShare:        0.20,  // beyond it, the client's window is the limit and no congestion control helps
		MinBusyShare:        0.50,  // below it, the sender mostly waits for the application
		PolicerSpread:       1.25,  // BBRv1's own detector calls two rates equal within 1/8: 1.125 squared
		PolicerRetransShare: 0.05,  // CUBIC behind a 10 Mbit/s policer retransmits 10 %, in any other queue measured at most 2 %
		PolicerBurst:        3,     // single losses give about 1, a policer 10
		MaxConnShare:        0.20,  // four times the even share at MinSharePrefixes: a NAT, a load balancer, not a path
		MinSharePrefixes:    20,    // prefixes: among five, each has a fifth
	}
}

// DefaultTrial returns the numbers for windows of 300 s and blocks of 10 min.
func DefaultTrial() Trial {
	return Trial{
		BlockSeconds:   10 * 60, // s: ten times the wash-out, which shorter ones would waste on it; docs/measured.md has the days with long downloads
		WashoutSeconds: 60,      // s: queues of the other arm drain in seconds, and its responses end or leave at the border
		GroupTrial:     2,       // blocks: evidence is fastest at equal shares
		GroupPromoted:  16,      // blocks: control blocks of the whole PoP, nine a day, for a sixteenth of the gain

		CooldownSeconds:    24 * 3600,     // s: another day, the same hour of it
		MaxCooldownSeconds: 8 * 24 * 3600, // s: a treatment that does not help is tried once a week, since paths do change
		EvidenceSeconds:    24 * 3600,     // s: with all of the history, an effect that turns is not seen within a day
	}
}

// GroupByLevel is Trial.GroupPromoted by level, blocks: each network has its own control blocks, which its level is known by too, for an
// eighth of the gain.
const GroupByLevel = 8

// ByLevel returns the rules by which the level alone decides, without a pacing cap.
func (r Rules) ByLevel() Rules {
	r.Select, r.Cap, r.Trial.GroupPromoted = SelectSlowest, false, GroupByLevel
	return r
}

// Experiment reports whether blocks are compared, and what they show decides. SelectSlowest is what was published: the level
// alone, in and out.
func (r Rules) Experiment() bool { return r.Select != SelectSlowest }

// knownByBenefit windows, a quarter of an hour: what its class promises a network is tried, not believed. By level more are needed, since a
// duty cycle over fewer hangs on one block.
const knownByBenefit = 3

// Known returns the known windows below which nothing is decided.
func (r Rules) Known() int {
	if r.Select == SelectBenefit {
		return min(knownByBenefit, r.MinKnown)
	}
	return r.MinKnown
}

// PoPGroup returns in how many blocks one is control for the whole PoP, all networks sharing one draw; 0: each has its own.
func (r Rules) PoPGroup() int {
	if r.Select == SelectBenefit {
		return r.Trial.GroupPromoted
	}
	return 0
}

// Drawn returns whose draw decides for all networks, record.All; 0: each has its own.
func (r Rules) Drawn() record.Prefix {
	if r.PoPGroup() > 0 {
		return record.All
	}
	return 0
}

// lookback and maxAge are in windows.
func (r Rules) lookback() int64 { return r.LookbackSeconds / r.WindowSeconds }
func (r Rules) maxAge() int64   { return r.MaxAgeSeconds / r.WindowSeconds }

// RememberSeconds is how far back windows and rounds matter: the history and the windows that its first
// one's signature may rest on, or the oldest pair that may count.
func (r Rules) RememberSeconds() int64 {
	level := r.MaxAgeSeconds + r.PastSeconds()
	if t := r.Trial; r.Experiment() {
		return max(level, t.EvidenceSeconds+int64(t.longest()+1)*t.BlockSeconds)
	}
	return level
}

// longest is the number of blocks in the longest groups.
func (t Trial) longest() int { return max(t.GroupTrial, t.GroupPromoted) }

// Listed is a network that the operator lists, with the reason. As text it is
// "203.0.113.0/24 reason in words"; the reason may be absent.
type Listed struct {
	Net    netip.Prefix
	Reason string
}

func (l Listed) String() string { return strings.TrimSpace(l.Net.String() + " " + l.Reason) }

// MarshalText writes what UnmarshalText reads.
func (l Listed) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a network and the words after it; on an error l stays.
func (l *Listed) UnmarshalText(b []byte) error {
	words := strings.Fields(string(b))
	if len(words) == 0 {
		return fmt.Errorf("parse listed network %q: no network", b)
	}
	n, err := netip.ParsePrefix(words[0])
	if err != nil {
		return fmt.Errorf("parse listed network %q: %q is not a network", b, words[0])
	}
	*l = Listed{n, strings.Join(words[1:], " ")}
	return nil
}

// Nets returns the networks of a list.
func Nets(list []Listed) []netip.Prefix {
	nets := make([]netip.Prefix, len(list))
	for i, l := range list {
		nets[i] = l.Net
	}
	return nets
}
