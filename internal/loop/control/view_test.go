package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

var (
	_ View   = (*Client)(nil)
	_ Action = (*Client)(nil)
)

// fake answers with fixed values and notes what it was asked.
type fake struct{ asked []string }

func (f *fake) note(format string, args ...any) {
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
}

var (
	somePrefix, _ = record.ParsePrefix("203.0.113.0/24")
	someRows      = []PrefixRow{{Row: policy.Row{Prefix: somePrefix, State: policy.StateSelected, Since: 1_700_000_100, PerfBytesPerS: 0.1 + 0.2},
		Treatment: "bbr", Arm: record.ArmTreatment, ArmUntil: 1_700_001_000}}
	someExplained = policy.Explanation{Prefix: somePrefix, State: policy.StateSelected, Duty: 0.9,
		Windows: []policy.WindowLine{{Start: 300, Known: true, Rank: 1}, {Start: 600, Why: "no connections"}},
		Guards:  []policy.Guard{}, Verdict: []string{"selected: 33 of 36"}, Thresholds: policy.DefaultRules()}
	someRounds = []journal.Round{{Summary: policy.Summary{RoundStart: 600, Window: 300, Known: 40, Selected: 3, Note: "frozen"}}}
	someEvents = []journal.Event{{ID: 2, At: 600, Kind: "stop", Text: "by hand"},
		{ID: 1, At: 300, Kind: "selected", Prefix: somePrefix, Text: "slow", Evidence: []byte(`{"duty":0.9}`)}}
	somePlan   = PlanFile{Serial: 7, CreatedUnixS: 600, Hash: "ab", Text: "congctl-plan 1\npop x\n", InForce: true}
	someStatus = Status{Running: true, PoP: "x", PID: 1, Tier: "full", Plan: 7, Agent: &agent.Status{Polls: 3, Namespaces: []string{"own"}, Alarms: []string{}}}
)

func (f *fake) Prefixes(_ context.Context, q PrefixesRequest) ([]PrefixRow, error) {
	f.note("prefixes %v %d", q.Selected, q.Limit)
	return someRows, nil
}

func (f *fake) Explain(_ context.Context, p record.Prefix) (policy.Explanation, error) {
	f.note("explain %s", p)
	if p != somePrefix {
		return policy.Explanation{}, &Error{Text: "not tracked", Code: NotFound}
	}
	return someExplained, nil
}

func (f *fake) Rounds(_ context.Context, n int) ([]journal.Round, error) {
	f.note("rounds %d", n)
	return someRounds, nil
}

func (f *fake) Events(_ context.Context, q EventsRequest) ([]journal.Event, error) {
	f.note("events %d %d %s", q.Prefix, q.Limit, q.Kinds)
	return someEvents, nil
}

func (f *fake) Plan(_ context.Context, serial record.PlanID) (PlanFile, error) {
	f.note("plan %d", serial)
	return somePlan, nil
}

func (f *fake) Compare(_ context.Context, text string) (plan.Diff, error) {
	f.note("compare %d", len(text))
	return plan.Diff{From: 7, To: 8, Unchanged: 2}, nil
}

func (f *fake) History(_ context.Context, n int) ([]PlanLine, error) {
	f.note("history %d", n)
	return []PlanLine{{Serial: 7, CreatedUnixS: 600, By: "ann", Networks: 3, Added: 1, State: "settled", Why: "is in force on 3 hosts", Hash: "ab"}}, nil
}

func (f *fake) Status(context.Context) (Status, error) {
	f.note("status")
	return someStatus, nil
}

func (f *fake) act(name, by string) error {
	f.note("%s", name)
	if !strings.Contains(by, fmt.Sprintf("uid %d", os.Getuid())) {
		return fmt.Errorf("by %q", by)
	}
	return nil
}

func (f *fake) Stop(_ context.Context, evict bool, by string) error {
	return f.act(fmt.Sprint("stop ", evict), by)
}
func (f *fake) Resume(_ context.Context, by string) error { return f.act("resume", by) }
func (f *fake) RollBack(_ context.Context, serial record.PlanID, by string) error {
	return f.act(fmt.Sprint("rollback ", serial), by)
}
func (f *fake) Push(_ context.Context, text string, against record.PlanID, by string) error {
	return f.act(fmt.Sprint("push ", len(text), " ", against), by)
}
func (f *fake) Abort(_ context.Context, by string) error    { return f.act("abort", by) }
func (f *fake) Freeze(_ context.Context, by string) error   { return f.act("freeze", by) }
func (f *fake) Unfreeze(_ context.Context, by string) error { return f.act("unfreeze", by) }

// TestViewOverTheSocket: what a view answers arrives as it was.
func TestViewOverTheSocket(t *testing.T) {
	f := &fake{}
	path := start(t, Options{}, func(s *Server) { HandleView(s.Handler, f) })
	ctx, near, far := t.Context(), View(f), View(NewClient(path))
	for name, fn := range map[string]func(View) (any, error){
		"prefixes": func(v View) (any, error) { return v.Prefixes(ctx, PrefixesRequest{Selected: true, Limit: 3}) },
		"explain":  func(v View) (any, error) { return v.Explain(ctx, somePrefix) },
		"rounds":   func(v View) (any, error) { return v.Rounds(ctx, 5) },
		"events":   func(v View) (any, error) { return v.Events(ctx, EventsRequest{Limit: 9}) },
		"of one": func(v View) (any, error) {
			return v.Events(ctx, EventsRequest{Prefix: somePrefix, Kinds: []string{"stop", "audit"}, Limit: 9})
		},
		"plan":    func(v View) (any, error) { return v.Plan(ctx, 7) },
		"history": func(v View) (any, error) { return v.History(ctx, 4) },
		"compare": func(v View) (any, error) { return v.Compare(ctx, strings.Repeat("x", maxBody)) },
		"status":  func(v View) (any, error) { return v.Status(ctx) },
	} {
		f.asked = nil
		want, err1 := fn(near)
		got, err2 := fn(far)
		if err := errors.Join(err1, err2); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(text(t, want), text(t, got)); d != "" {
			t.Errorf("%s: (-near +far)\n%s", name, d)
		}
		if len(f.asked) != 2 || f.asked[0] != f.asked[1] {
			t.Errorf("%s: asked %q", name, f.asked)
		}
	}
	other, _ := record.ParsePrefix("198.51.100.0/24")
	_, err := far.Explain(ctx, other)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != NotFound {
		t.Errorf("unknown prefix: %v", err)
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A process takes plans of the length that its plan.max allows: reading a longer one costs in vain.
func TestPlansAreBounded(t *testing.T) {
	for _, c := range []struct{ entries, bytes, taken int }{{100, plan.BytesFor(100), 1}, {100, 3 * plan.BytesFor(100), 0}, {100_000, 4 << 20, 1}, {0, plan.MaxFileBytes, 1}} {
		f := &fake{}
		path := start(t, Options{}, func(s *Server) { s.Handler.PlanEntries = c.entries; HandleActions(s.Handler, f) })
		client := NewClient(path)
		client.Timeout = time.Minute // eight megabytes, on a busy machine
		err := client.Push(t.Context(), strings.Repeat("\n", c.bytes), 0, "")
		if (err == nil) != (c.taken == 1) || len(f.asked) != c.taken || err != nil && !strings.Contains(err.Error(), "request larger than") {
			t.Errorf("%d bytes for plans of %d networks: %v", c.bytes, c.entries, err)
		}
	}
}

func TestActionsOverTheSocket(t *testing.T) {
	f := &fake{}
	var acts []string
	path := start(t, Options{}, func(s *Server) {
		HandleActions(s.Handler, f)
		s.Audit(func(_ context.Context, a Act) {
			if f.act("audit", a.By) != nil || a.Err != nil {
				t.Errorf("audit of %+v", a)
			}
			f.asked = f.asked[:len(f.asked)-1]
			acts = append(acts, strings.TrimSpace(a.Name+" "+a.Arg))
		})
	})
	var a Action = NewClient(path)
	ctx := t.Context()
	err := errors.Join(a.Stop(ctx, true, "ignored"), a.Stop(ctx, false, ""), a.Resume(ctx, ""), a.Freeze(ctx, ""), a.Unfreeze(ctx, ""), a.RollBack(ctx, 7, ""),
		a.Push(ctx, strings.Repeat("x", maxBody), 7, ""), a.Abort(ctx, ""))
	if err != nil {
		t.Error(err)
	}
	if got := strings.Join(f.asked, ", "); got != "stop true, stop false, resume, freeze, unfreeze, rollback 7, push 65536 7, abort" {
		t.Errorf("asked %s", got)
	}
	if got := strings.Join(acts, ", "); !strings.HasPrefix(got, "stop --evict, stop, resume, freeze, unfreeze, rollback 7, push 65536 bytes, sha256 ") || !strings.HasSuffix(got, ", against plan 7, abort") {
		t.Errorf("audited %s", got)
	}
}
