package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/goodput/comparison"
	"github.com/congctl/congctl/internal/goodput/effects"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// pretended is a PoP that does not exist: a day of rounds and any number of networks, to look at pages by.
type pretended struct {
	networks int
	now      int64 // Unix seconds

	mu    sync.Mutex // guards these
	state control.Status
	acts  []string
	back  bool // the roll-out was taken back
}

var (
	_ control.View = (*pretended)(nil)
	_ control.Flow = (*pretended)(nil)
)

func pretend(networks int) *pretended {
	p := &pretended{networks: networks, now: time.Now().Unix()}
	p.state = control.Status{Running: true, Version: "0.9", PoP: "chi", PID: 1, StartedUnixS: p.now - 90000, Tier: "full", Plan: 41, RoundUnixS: p.now / 300 * 300,
		Ranked: min(networks, 4210), MinRanked: 20, Treatment: "bbr", Agent: &agent.Status{Namespaces: []string{"own"}, DefaultCongs: []string{"cubic"}, Polls: 9000,
			Coverage: 0.9997, CoverageOf: 51230, Plan: 41, InForce: min(networks, 118), Alarms: []string{}}}
	p.state.Agent.Ledger.Live = 48211
	if networks == 0 {
		p.state.Plan, p.state.Agent.Plan, p.state.RoundUnixS, p.state.ToDecide, p.state.DecideUnixS = 0, 0, 0, 12, p.now+3600
	}
	return p
}

func (p *pretended) Status(context.Context) (control.Status, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state, nil
}

func (p *pretended) network(i int) record.Prefix {
	n, _ := record.ParsePrefix(netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(20 + i>>16), byte(i >> 8), byte(i), 0}), 24).String())
	return n
}

var pretendStates = []policy.State{policy.StateAlways, policy.StatePromoted, policy.StateTrial, policy.StateHoldout, policy.StateAA, policy.StateCooling, policy.StateExcluded, policy.StateUntreated}

func (p *pretended) row(i int) control.PrefixRow {
	r := rand.New(rand.NewPCG(1, uint64(i)))
	state := policy.StateUntreated
	if i < 118 {
		state = pretendStates[i%6]
	} else if r.IntN(9) == 0 {
		state = policy.StateExcluded
	}
	row := control.PrefixRow{Row: policy.Row{Prefix: p.network(i), State: state, Why: "slow in 31 of 36 windows", PerfBytesPerS: math.Exp(11 + 3*r.Float64()), Conns: 30 + r.IntN(900),
		Known: 36, Duty: r.Float64(), Flap: r.Float64() / 4, MinRTTUs: 4000 + 200000*r.Float64(), RetransShare: r.Float64() / 20}}
	classes := []policy.Class{policy.ClassSingle, policy.ClassMixed, policy.ClassBursts, policy.ClassPolicer, policy.ClassQueue, policy.ClassClean}
	row.Signature = classes[r.IntN(len(classes))]
	if i < 118 && i%6 < 3 {
		row.Rate, row.Treatment, row.Arm, row.ArmUntil = 0.95+r.Float64(), "bbr", record.ArmTreatment, p.now+1800
		row.TreatedBytesPerS, row.Claim = row.Rate*row.PerfBytesPerS, policy.ClaimOpen
		if row.Rate > 1.4 {
			row.Claim = policy.ClaimShown
		}
	} else if state == policy.StateExcluded {
		row.Guard = "low_rtt"
	}
	return row
}

func (p *pretended) Prefixes(context.Context, control.PrefixesRequest) ([]control.PrefixRow, error) {
	rows := make([]control.PrefixRow, p.networks)
	for i := range rows {
		rows[i] = p.row(i)
	}
	return rows, nil
}

func (p *pretended) EachPrefix(_ context.Context, each func(*control.PrefixRow) error) error {
	for i := range p.networks {
		row := p.row(i)
		if err := each(&row); err != nil {
			return err
		}
	}
	return nil
}

func (p *pretended) Recent(_ context.Context, prefixes []record.Prefix, n int) (out [][]float32, err error) {
	for _, prefix := range prefixes {
		r, rates := rand.New(rand.NewPCG(3, uint64(prefix))), make([]float32, n)
		for i := range rates {
			if r.IntN(12) > 0 {
				rates[i] = float32(1e5 * (2 + math.Sin(float64(i)/5) + r.Float64()))
			}
		}
		out = append(out, rates)
	}
	return out, nil
}

func (p *pretended) fleet() FleetStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := FleetStatus{PoP: "chi", Plan: 40, Next: 41, Stage: "share", Hosts: []FleetHost{{Host: "edge-1", Connected: true, Version: "0.9", Plan: 41, InForce: 118, Share: 0.6, Counted: 1, BytesPerS: 4e5, Ratio: 1}, {Host: "edge-2", Plan: 40, Version: "0.9"}}}
	if p.back {
		f.Next, f.Stage = 0, ""
	}
	return f
}

func (p *pretended) Explain(_ context.Context, prefix record.Prefix) (policy.Explanation, error) {
	for i := range p.networks {
		if p.network(i) != prefix {
			continue
		}
		r, rnd := p.row(i), rand.New(rand.NewPCG(2, uint64(i)))
		x := policy.Explanation{Prefix: prefix, State: r.State, RoundStart: p.now, Known: 36, InGroup: 31, Duty: 0.86, Flap: 0.08, PerfBytesPerS: r.PerfBytesPerS, Thresholds: policy.DefaultRules(),
			Verdict:   []string{"selected: in the slow group in 31 of 36 known windows (0.86, 0.7 needed)", "its losses come singly: treatment is expected to help"},
			Signature: &policy.Signature{Class: r.Signature}, Chosen: &policy.Selected{Prefix: prefix, Since: p.now - 40000},
			Guards: []policy.Guard{{Name: "low_rtt", State: policy.GuardPass, Text: "median min_rtt 84 ms, at least 20 ms needed"}, {Name: "policer", State: policy.GuardOff, Text: "off by configuration"}}}
		for w := range 90 {
			line := policy.WindowLine{Start: p.now - int64(90-w)*300, Known: w%17 != 3, Own: 40}
			if line.Known {
				line.PerfBytesPerS, line.BoundaryBytesPerS, line.Rank, line.Ranked = 150e3+200e3*rnd.Float64(), 300e3+20e3*math.Sin(float64(w)/9), 40+rnd.IntN(300), 4210
				line.InGroup = line.PerfBytesPerS < line.BoundaryBytesPerS
			} else {
				line.Why = "no eligible connection"
			}
			x.Windows = append(x.Windows, line)
		}
		x.Experiment = &policy.Experiment{Since: p.now - 40000, Rate: 1.34, Low: 1.12, High: 1.6, Goodput: 1.2, Benefit: 4.1, Needed: 2.7}
		for g := range 8 {
			x.Experiment.Pairs = append(x.Experiment.Pairs, policy.PairLine{Start: p.now - int64(8-g)*7200, End: p.now - int64(7-g)*7200, TConns: 210, CConns: 70, Rate: 0.95 + rnd.Float64(),
				TBytesPerS: 4e5, CBytesPerS: 3e5, TRetransShare: 0.03, CRetransShare: 0.02})
		}
		return x, nil
	}
	return policy.Explanation{}, &control.Error{Code: control.NotFound, Text: prefix.String() + " is not tracked", Hint: "congctl prefixes lists those that are"}
}

func (p *pretended) Rounds(_ context.Context, n int) (out []journal.Round, err error) {
	for i := range min(n, p.networks/10, 288) {
		at := float64(288 - i)
		out = append(out, journal.Round{Summary: policy.Summary{RoundStart: p.now/300*300 - int64(i)*300, Window: p.now/300*300 - int64(i+1)*300, Known: 4000, Ranked: 4210, InGroup: 400 + int(40*math.Sin(at/30)),
			Selected: min(118, int(at/2)), New: int(at) % 3, Released: int(at) % 7 / 6, Refused: 4, BoundaryBytesPerS: 3e5 + 4e4*math.Sin(at/40)}})
	}
	return out, nil
}

func (p *pretended) Events(_ context.Context, q control.EventsRequest) (out []journal.Event, err error) {
	kinds := q.Kinds
	if len(kinds) == 0 {
		kinds = []string{"selected", "promoted", "audit", "released"}
	}
	for i := range min(q.Limit, p.networks/10, 30) {
		out = append(out, journal.Event{ID: int64(100 - i), At: p.now - int64(i)*310, Kind: kinds[i%len(kinds)], Prefix: p.network(i * 7),
			Text: "slow in 31 of 36 windows, losses come singly: on trial from the next block on"})
	}
	return out, nil
}

const pretendPlan = "congctl-plan 2\npop chi\nserial 41\ntreat 20.0.0.0/24 bbr promoted 2026-11-20T11:55:00Z - duty 0.94\n"

func (p *pretended) Plan(_ context.Context, serial record.PlanID) (control.PlanFile, error) {
	return control.PlanFile{Serial: cmp.Or(serial, 41), CreatedUnixS: p.now - 600, Hash: "5feceb66ffc86f38d952786c6d696c79", Text: pretendPlan, InForce: serial == 41}, nil
}

func (p *pretended) Compare(context.Context, string) (plan.Diff, error) {
	return plan.Diff{From: 41, To: 42, Added: []plan.Entry{{Prefix: p.network(3), Cong: "bbr", State: "trial", Reason: "slow in 31 of 36 windows"}},
		Removed: []plan.Entry{{Prefix: p.network(9), Cong: "bbr", State: "trial"}}, Changed: []plan.EntryChange{{Prefix: p.network(4), Fields: []plan.FieldChange{{Field: "state", From: "trial", To: "promoted"}}}}, Unchanged: 115}, nil
}

func (p *pretended) History(context.Context, int) (out []control.PlanLine, err error) {
	for i := range min(p.networks/10, 30) {
		state := []string{"share", "settled", "replaced", "taken back"}[min(i, 2+i%2)]
		out = append(out, control.PlanLine{Serial: record.PlanID(41 - i), CreatedUnixS: p.now - int64(i)*3000, By: "round", Networks: 118 - i, Added: 3 + i%3, Removed: i % 2, State: state, Why: "on 1 of 2 hosts", Hash: fmt.Sprint(i)})
	}
	return out, nil
}

func (p *pretended) effect(context.Context, effectQuery) (*effects.View, error) {
	v := &effects.View{PoP: "chi", Treatment: "bbr", From: p.now - 86400, To: p.now, Networks: p.networks}
	if p.networks > 0 {
		v.Overall = &effects.Overall{Pairs: 412, Ratio: 1.21, Low: 1.14, High: 1.29}
		v.Busy = &effects.Overall{Pairs: 398, Ratio: 1.12, Low: 0.99, High: 1.24}
		v.Cost = &comparison.Cost{TreatmentRetrans: 0.034, ControlRetrans: 0.021, TreatmentQueueUs: 12300, ControlQueueUs: 31000}
	}
	return v, nil
}

func (p *pretended) rates(_ context.Context, q ratesRequest) (r Rates, err error) {
	r.Points = []RatePoint{}
	for i := range min(q.Windows, p.networks/10) {
		at := float64(i) / 20
		r.Points = append(r.Points, RatePoint{p.now - int64(q.Windows-i)*300, 9000, 3e5 + 5e4*math.Sin(at), 1.2e6 + 2e5*math.Sin(at/2)})
	}
	return r, nil
}

// act changes the state as the real one would.
func (p *pretended) act(change func(*control.Status), name, by string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.state)
	p.acts = append(p.acts, name+" by "+by)
	return nil
}

func (p *pretended) did() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.acts...)
}

func stopsAt(on bool) func(*control.Status) {
	return func(s *control.Status) { s.Stopped, s.StoppedNext = on, on }
}

func (p *pretended) Stop(_ context.Context, evict bool, by string) error {
	return p.act(stopsAt(true), fmt.Sprint("stop ", evict), by)
}
func (p *pretended) Resume(_ context.Context, by string) error {
	return p.act(stopsAt(false), "resume", by)
}
func (p *pretended) Freeze(_ context.Context, by string) error {
	return p.act(func(s *control.Status) { s.Frozen = true }, "freeze", by)
}
func (p *pretended) Unfreeze(_ context.Context, by string) error {
	return p.act(func(s *control.Status) { s.Frozen = false }, "unfreeze", by)
}
func (p *pretended) RollBack(_ context.Context, serial record.PlanID, by string) error {
	return p.act(func(s *control.Status) { s.Frozen, s.Plan = true, s.Plan+1 }, fmt.Sprint("rollback ", serial), by)
}
func (p *pretended) Push(_ context.Context, text string, against record.PlanID, by string) error {
	return p.act(func(s *control.Status) { s.Frozen, s.Plan = true, s.Plan+1 }, fmt.Sprint("push ", len(text), " against ", against), by)
}
func (p *pretended) Abort(_ context.Context, by string) error {
	return p.act(func(*control.Status) { p.back = true }, "abort", by)
}
