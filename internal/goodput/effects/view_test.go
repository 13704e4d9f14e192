package effects

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/goodput"
	"github.com/congctl/congctl/internal/goodput/accesslog"
	"github.com/congctl/congctl/internal/goodput/comparison"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// morning is 2026-11-20T00:00:00Z, a block's start.
const morning = 1_795_132_800

// shelf is a store by hand: networks 0 to 2 on trial, 3 for A/A, 4 held out. In each
// block a network has one window with two connections: 100 and 400 kB/s under control,
// 1.5 times as much under treatment; network 0 knows goodput over busy time, 1.25 times as much. Arms take turns, the odd blocks are treated.
type shelf struct {
	broken error
	note   string // of the window at 01:40
}

func net(i int) record.Prefix { return record.Prefix(0xcb000000 | uint32(i)<<8 | 24) }

func (s shelf) Heads(context.Context, int64, int64) ([]journal.Head, error) {
	return []journal.Head{{Start: morning + 6000, Note: s.note}}, s.broken
}

func (s shelf) Rounds(context.Context, int) ([]journal.Round, error) {
	m := policy.Memory{Turns: policy.Turns{Won: newestWon}}
	for i, role := range []record.Arm{0, 0, 0, record.ArmAA, record.ArmHoldout} {
		m.Selected = append(m.Selected, policy.Selected{Prefix: net(i), State: policy.StateTrial, Role: role})
	}
	text, err := json.Marshal(m)
	return []journal.Round{{Summary: policy.Summary{RoundStart: morning}, SelectionJSON: text}}, err
}

func (s shelf) Windows(_ context.Context, from, to int64, row func(*record.Window) error) error {
	for i := range 5 {
		before := s.row(i, morning-3000, record.ArmNone)
		if err := row(&before); err != nil {
			return err
		}
		for block := range int64(8) {
			w := s.row(i, morning+block*1800+600, (turns{}).Arm(0, 2, block))
			if err := row(&w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s shelf) row(i int, start int64, arm record.Arm) record.Window {
	factor := 1.0
	switch {
	case i == 3:
		arm = record.ArmAA
	case i == 4:
		arm = record.ArmHoldout
	case arm == record.ArmTreatment:
		factor = 1.5
	}
	slow, fast := 1e5*factor, 4e5*factor
	w := record.Window{Start: start, Prefix: net(i), Arm: arm, Control: arm != record.ArmTreatment, Eligible: 2, MinRTTUs: 40_000, SRTTUs: 50_000 * factor,
		LogRateMean: (math.Log(slow) + math.Log(fast)) / 2, LogRateVar: 0.48, EligibleSentBytes: 1_000_000, EligibleRetransBytes: uint64(10_000 * factor)}
	if i == 0 { // 1.25 times the goodput over busy time, which the others do not know
		w.RateMeans, w.LogGoodputMean, w.LogGoodputVar = w.Eligible, math.Log(1e5*(1+factor)/2), 0.48
	}
	for q, p := range record.RateQuantiles {
		w.RateBytesPerS[q] = slow + (fast-slow)*p
	}
	return w
}

// newestWon is in the sums of the newest round.
const newestWon = 12.5

type turns struct{}

func (turns) Arm(_ record.Prefix, _ int, block int64) record.Arm {
	if block%2 == 1 {
		return record.ArmTreatment
	}
	return record.ArmControl
}

func (s shelf) Read(_, _ int64, row func(*goodput.Row), settled func(*goodput.Batch)) (int, error) {
	for block := range int64(8) {
		arm := (turns{}).Arm(0, 2, block)
		rate := float32(80_000)
		if arm == record.ArmTreatment {
			rate = 160_000
		}
		row(&goodput.Row{Key: goodput.Key{Window: morning + block*1800 + 600, Prefix: net(0), Arm: arm, Tenant: "shop"}, N: 4, BytesPerS: []float32{rate, rate, rate, rate}})
	}
	b := goodput.Batch{BadLine: 3, Dropped: 7}
	b.Tally = accesslog.Tally{Responses: 1000, Matched: 960, Small: 500, Carryover: 10, Buffered: 20}
	b.Tally.Unmatched[accesslog.NoConnection], b.Tally.Unmatched[accesslog.Late] = 30, 10
	settled(&b)
	return 2, nil
}

// answer is the view of the shelf.
func (s shelf) answer(t *testing.T, label string, by comparison.Grouping, name string) *View {
	t.Helper()
	c := comparison.Config{WindowSeconds: 300, BlockSeconds: 1800, WashoutSeconds: 300, GroupTrial: 2, GroupPromoted: 8,
		From: morning, To: morning + 4*3600, ArmOf: turns{}.Arm}
	if label != "" {
		c.ChangeAt = morning + 7000
	}
	b, sums, log, err := Load(t.Context(), c, s, s)
	if err != nil {
		t.Fatal(err)
	}
	if sums.Won != newestWon {
		t.Errorf("not the newest round's sums: %+v", sums)
	}
	v := &View{PoP: "ams1", Treatment: "bbr", From: c.From, To: c.To, Label: label, ChangeAt: c.ChangeAt}
	v.Fill(b.Report(by, 1), name)
	v.FillLog(log)
	return v
}

func TestText(t *testing.T) {
	datadriven.RunTest(t, "testdata/text", func(t *testing.T, d *datadriven.TestData) string {
		by, name, label := comparison.Grouping{}, "", ""
		switch {
		case d.HasArg("network"):
			name = "network"
			by.Of = func(p record.Prefix) string {
				if p == net(0) {
					return "Big Cable"
				}
				return ""
			}
		case d.HasArg("tenant"):
			by.Tenants, name = true, "tenant"
		case d.HasArg("label"):
			label = "initcwnd 20"
		}
		v := shelf{}.answer(t, label, by, name)
		if d.HasArg("finding") {
			v.Findings = []Finding{{Text: "one arm leaks into the other", Fix: "sysctl -w a=1"}}
		}
		if d.HasArg("cap") {
			v.Cap = &Cap{2, &policy.CapEffect{Windows: 45, Goodput: 1.004, Low: 0.97, High: 1.03, CappedRetrans: 0.012, ScoutsRetrans: 0.118, CappedQueue: 1.21, ScoutsQueue: 1.9}}
		}
		if d.HasArg("taken") {
			v.Taken = &policy.Taken{Share: 0.31, Low: 0.12, High: 0.5}
		}
		var out strings.Builder
		if err := v.Text(&out, 0); err != nil {
			t.Fatal(err)
		}
		return out.String()
	})
}

// The answer as JSON holds the same; infinities would have no text there.
func TestJSON(t *testing.T) {
	v := shelf{}.answer(t, "", comparison.Grouping{}, "")
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back View
	if err := json.Unmarshal(text, &back); err != nil || back.Networks != 3 || back.Estimates[0].Pairs != 12 || back.Cost == nil || back.HoldOut.Why == "" {
		t.Errorf("%v: %s", err, text)
	}
	empty := &View{}
	empty.Fill(comparison.New(comparison.Config{WindowSeconds: 300, BlockSeconds: 1800}).Report(comparison.Grouping{}, 1), "")
	if _, err := json.Marshal(empty); err != nil {
		t.Error(err)
	}
}

// A window with a note is skipped: the pair of its block lacks an arm.
func TestNotedWindowIsSkipped(t *testing.T) {
	v := shelf{note: "wall clock stepped"}.answer(t, "", comparison.Grouping{}, "")
	if e := v.Estimates[0]; e.Pairs != 9 || e.Partial != 3 {
		t.Errorf("%d pairs, %d partial", e.Pairs, e.Partial)
	}
}

func TestBrokenStore(t *testing.T) {
	broken := errors.New("damaged")
	if _, _, _, err := Load(t.Context(), comparison.Config{WindowSeconds: 300}, shelf{broken: broken}, shelf{}); !errors.Is(err, broken) {
		t.Error(err)
	}
}
