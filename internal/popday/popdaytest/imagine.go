package popdaytest

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/pop"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// Day is the imagined one: networks that the treatment helps, that it harms, that are slow,
// that a guard keeps out, and that are bad for a window.
const Day = `
name: imagined
about: nine networks whose truth is known
notes: Nothing was sent.
window: 2m
length: 4h
static: [lossy]
traffic: {fetches: 3, large: 150kB-250kB, pages: 1, smalls: 2, think: 100ms}
networks:
  - {name: lossy, count: 3, path: {rate: 20mbit, rtt: 80ms, loss: 2.5%}}
  - {name: slow, path: {rate: 4mbit, rtt: 30ms}}
  - {name: fibre, count: 3, spread: 30%, path: {rate: 30mbit, rtt: 14ms}}
  - {name: small-window, path: {rate: 20mbit, rtt: 70ms}, traffic: {rcvbuf: 16kB}}
  - {name: bad-window, path: {rate: 20mbit, rtt: 60ms}, when: [{from: 90m, for: 2m, loss: 5%}]}
expect:
  - {measure: effect, of: lossy, least: 2, above: 1.5}
  - {measure: gain, least: 1.12, above: 1}
  - {measure: gain_share, least: 40%}
  - {measure: gain_share_late, least: 60%}
  - {measure: truth_missed, most: 0}
  - {measure: switch_missed, most: 0}
  - {measure: treated, of: small-window, most: 0}
  - {measure: selected, of: bad-window, most: 0}
  - {measure: promoted, of: slow, most: 0}
  - {measure: new_share, most: 3%}
  - {measure: small_treated, most: 0}
  - {measure: harmed, most: 0}
  - {measure: resent, most: 100%}
`

const (
	// Began is the day's start, Unix seconds, which is the start of a block.
	Began = 1767225600
	// blockS and windowS are those of the configuration that its reports are of.
	blockS, windowS = 720, 120
	// groupTrial blocks, one of them control.
	groupTrial = 2
	noise      = 0.35 // sd of ln goodput between responses
	// Capped is what the policy with a pacing cap keeps of the goodput.
	Capped = 0.9
	// tryFrom and retireAt: the round that chooses, and the one that gives up on slow
	// networks; seconds of the day.
	tryFrom, retireAt = 30 * 60, 3 * 3600
)

// Truth is what the treatment does: the factor on goodput, by class; 1 for others.
type Truth map[string]float64

// Run is a run with the files that it leaves, and the store's content.
type Run struct {
	Facts     []byte
	Responses []popday.Response
	Loop      bool
	Rounds    []journal.Round // oldest first
	Events    []journal.Event
	Heads     []journal.Head
	Windows   []record.Window
}

// Salt of every run's experiment.
var Salt = []byte("imagined")

// imagining is one run in the making.
type imagining struct {
	day    *pop.Day
	world  *pop.World
	policy string
	truth  Truth
	luck   *stat.Rand
	draws  *plan.Draws
	run    *Run
	rates  map[windowKey][]float64
}

type windowKey struct {
	start  int64
	prefix record.Prefix
	arm    record.Arm
}

// Imagine makes a run of the day under a policy: cubic, bbr, switch, or one under which congctl
// treats. loop and slowest-fifth try the lossy and the slow, benefit and benefit-cap the lossy alone;
// the cap sends nothing again beyond CUBIC and keeps Capped of the goodput. Another luck means other
// responses to the same requests.
func Imagine(d *pop.Day, seed, luck uint64, name string, truth Truth) *Run {
	m := &imagining{day: d, world: d.World(seed), policy: name, truth: truth, luck: stat.NewRand(luck, uint64(len(name))),
		draws: plan.NewDraws(Salt, 0, 0), run: &Run{Loop: slices.Contains(popday.Loops, name)}, rates: map[windowKey][]float64{}}
	for i := range m.world.Sessions {
		m.session(i, &m.world.Sessions[i])
	}
	m.facts(seed)
	if m.run.Loop {
		m.rounds()
		m.windows()
	}
	return m.run
}

func (m *imagining) prefix(network int) record.Prefix {
	p, _ := record.PrefixOf(m.world.Networks[network].Prefix.Addr())
	return p
}

func (m *imagining) class(network int) string { return m.world.Networks[network].Class }

// normal is a standard normal one.
func (m *imagining) normal() float64 {
	return math.Sqrt(-2*math.Log(1-m.luck.Float64())) * math.Cos(2*math.Pi*m.luck.Float64())
}

func (m *imagining) session(number int, s *pop.Session) {
	at := s.AtUs
	for i, q := range s.Requests {
		at += q.WaitUs
		r := popday.Response{Network: s.Network, Session: number, Request: i, StartUs: at, Asked: q.Bytes, Got: q.Bytes, Fresh: i == 0, HTTP2: s.HTTP2,
			Cong: "cubic", SentBytes: q.Bytes + q.Bytes/50, RetransBytes: q.Bytes / 50, MinRTTUs: uint32(m.world.Networks[s.Network].Path.RTTUs)}
		arm, treated := m.arm(&r)
		rate := m.level(&r, treated)
		r.FirstUs = at + m.world.Networks[s.Network].Path.RTTUs
		r.EndUs = at + uint64(float64(q.Bytes)/rate*1e6) + 1
		m.run.Responses = append(m.run.Responses, r)
		if r.Asked >= 100_000 {
			k := windowKey{Began + int64(r.StartUs/1e6)/windowS*windowS, m.prefix(r.Network), arm}
			m.rates[k] = append(m.rates[k], rate)
		}
		at = r.EndUs
	}
}

// level returns a response's goodput, bytes/s.
func (m *imagining) level(r *popday.Response, treated bool) float64 {
	n := &m.world.Networks[r.Network]
	rate := float64(n.Path.RateBitPerS) / 8 * math.Exp(noise*m.normal())
	if n.Path.LossPPM > 0 {
		rate /= 8
	}
	if !treated {
		return rate
	}
	if v := m.truth[n.Class]; v > 0 {
		rate *= v
	}
	switch {
	case n.Theirs: // its own server is not treated
	case m.policy == "benefit-cap":
		r.Cong = "bbr"
		rate *= Capped
	default:
		r.Cong, r.RetransBytes = "bbr", 2*r.RetransBytes
	}
	return rate
}

// arm returns that of a response, and whether it is treated; a neighbour's are those of its line.
func (m *imagining) arm(r *popday.Response) (record.Arm, bool) {
	large, line := r.Asked >= 100_000, r.Network
	if n := m.world.Networks[line]; n.Theirs {
		line = n.Behind
	}
	switch {
	case m.policy == "bbr":
		return record.ArmNone, true
	case m.policy == "switch":
		return record.ArmNone, large
	case !m.run.Loop || !m.tried(line, int64(r.StartUs/1e6)):
		return record.ArmNone, false
	}
	arm := m.draws.Arm(m.prefix(line), groupTrial, (Began+int64(r.StartUs/1e6))/blockS)
	return arm, large && arm == record.ArmTreatment
}

// tried reports whether a network is in the plan at a time of the day.
func (m *imagining) tried(network int, at int64) bool {
	switch m.class(network) {
	case "lossy":
		return at >= tryFrom
	case "slow":
		return m.policy != "benefit" && m.policy != "benefit-cap" && at >= tryFrom && at < retireAt
	}
	return false
}

func (m *imagining) facts(seed uint64) {
	f := popday.Facts{Day: m.day.Name, Policy: m.policy, Seed: seed, Kernel: "6.1.0-imagined", BeganUnixS: Began, DurationUs: m.day.EndUs, BusyShare: 0.01,
		Responses: len(m.run.Responses)}
	for i := range m.world.Networks {
		f.Networks = append(f.Networks, popday.NetworkFacts{Class: m.class(i), Prefix: m.prefix(i)})
	}
	for _, r := range m.run.Responses {
		if r.Asked >= popday.LargeBytes {
			f.Large++
		}
	}
	m.run.Facts, _ = json.Marshal(f) // of plain values: cannot fail
}

// rounds choose the slow networks from tryFrom on, each with its event.
func (m *imagining) rounds() {
	before := map[int]bool{}
	for at := int64(windowS); at <= int64(m.day.EndUs/1e6); at += windowS {
		round := journal.Round{Summary: policy.Summary{RoundStart: Began + at, Window: Began + at - windowS, Known: len(m.world.Networks), Ranked: len(m.world.Networks), InGroup: 2}}
		var memory policy.Memory
		for n := range m.world.Networks {
			in := m.tried(n, at)
			if in {
				memory.Selected = append(memory.Selected, policy.Selected{Prefix: m.prefix(n), Since: Began + tryFrom, State: policy.StateTrial, From: Began + 3*blockS})
				round.Selected++
			}
			if in && !before[n] {
				round.New++
				m.event(round.RoundStart, policy.EventSelected, n, "")
			}
			if !in && before[n] {
				round.Released++
				m.event(round.RoundStart, policy.EventRetired, n, "")
			}
			before[n] = in
			if m.class(n) == "small-window" && at == tryFrom {
				m.event(round.RoundStart, policy.EventRefused, n, "rwnd")
			}
		}
		round.SelectionJSON, _ = json.Marshal(memory) // of plain values: cannot fail
		m.run.Rounds = append(m.run.Rounds, round)
	}
}

func (m *imagining) event(at int64, kind policy.EventKind, network int, guard string) {
	evidence, _ := json.Marshal(policy.Event{RoundStart: at, Kind: kind, Prefix: m.prefix(network), Guard: guard}) // the same
	m.run.Events = append(m.run.Events, journal.Event{ID: int64(len(m.run.Events) + 1), At: at, Kind: string(kind), Prefix: m.prefix(network),
		Text: string(kind) + " for a test", Evidence: evidence})
}
