package controller

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/policy"
)

// observing goes on with a bench's store as another start of it does, at a tier that only observes or at one that treats.
func (b *bench) observing(untreated bool) *bench {
	b.t.Helper()
	o := b.opt
	o.Untreated = untreated
	next := &bench{t: b.t, s: b.s, m: &machine{}, now: b.now}
	var err error
	if next.Controller, err = New(b.t.Context(), o, b.s, slog.New(slog.NewTextHandler(io.Discard, nil)), func() time.Time { return time.Unix(next.now, 0) }); err != nil {
		b.t.Fatal(err)
	}
	if err := next.Attach(b.t.Context(), next.m); err != nil {
		b.t.Fatal(err)
	}
	return next
}

// week is a week without any treatment, whatever the plan says.
func (b *bench) week() *bench {
	b.t.Helper()
	b.try(7*288, [5]float64{1, 1, 1, 1, 1})
	return b
}

// TestObserve: a week at a tier that only observes ends no trial and begins none, says what it would treat, and the first
// round at a tier that treats tries it. The store's replay says the same.
func TestObserve(t *testing.T) {
	t.Run("host", func(t *testing.T) { testObserve(t, false) })
	t.Run("fleet", func(t *testing.T) { testObserve(t, true) })
}

// testObserve has the tier of one host, or windows of a fleet whose hosts all only observe.
func testObserve(t *testing.T, fleet bool) {
	r := policy.DefaultRules()
	b := newBenchBy(t, fresh(), &machine{}, noon, r).observing(!fleet)
	b.untreated = fleet
	b.week()
	if n := b.told(policy.EventSelected) + b.told(policy.EventRetired) + b.told(policy.EventRetrial); n != 0 || len(lastPlan(t, b.m).Entries) != 0 {
		t.Errorf("%d events of trials without a treatment", n)
	}
	slow := window(b.now).Rows[0].Prefix
	stored, err := Stored(t.Context(), b.s, b.opt, "test", b.Controller.now)
	if err != nil {
		t.Fatal(err)
	}
	live, err1 := (&View{Controller: b.Controller}).Explain(t.Context(), slow)
	again, err2 := stored.Explain(t.Context(), slow)
	if text := live.Text(); err1 != nil || err2 != nil || !strings.Contains(text, "Worth a trial: ") || !strings.Contains(text, "only observe.") || text != again.Text() {
		t.Errorf("%v, %v: %s\nof the store: %s", err1, err2, text, again.Text())
	}
	full := b.observing(false)
	full.try(1, [5]float64{4, 4, 4, 4, 4})
	if p := lastPlan(t, full.m); states(p)["trial"] != 5 {
		t.Errorf("after observing: %v", states(p))
	}

	// What it spares: without the tier a week of nothing is a week of trials, and their networks cool down.
	if b := newBenchBy(t, fresh(), &machine{}, noon, r).week(); b.told(policy.EventRetired) == 0 {
		t.Error("no trial ended: this test shows nothing")
	}
}

// TestObserveKeepsTrials: a host that loses its tier for two days, as by a kernel without BBR, begins its trials again and retires none.
func TestObserveKeepsTrials(t *testing.T) {
	b := newBenchBy(t, fresh(), &machine{}, noon, policy.DefaultRules())
	b.try(12*60, [5]float64{4, 4, 4, 4, 4})
	before := len(lastPlan(t, b.m).Entries)
	retired := b.told(policy.EventRetired)
	b = b.observing(true)
	b.try(2*288, [5]float64{1, 1, 1, 1, 1})
	b = b.observing(false)
	b.try(1, [5]float64{4, 4, 4, 4, 4})
	if p := lastPlan(t, b.m); before == 0 || len(p.Entries) < before || b.told(policy.EventRetired) != retired {
		t.Errorf("%d networks before, then %v, %d retired", before, states(p), b.told(policy.EventRetired)-retired)
	}
}
