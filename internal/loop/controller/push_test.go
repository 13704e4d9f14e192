package controller

import (
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// many is a machine that is many.
type many struct {
	machine
	by     []string
	frozen bool
	abort  error
}

func (m *many) Offer(signed []byte, by string) error {
	m.by = append(m.by, by)
	return m.SetPlan(signed)
}
func (m *many) Freeze(on bool, _ string) { m.frozen = on }
func (m *many) Abort(string) error       { return m.abort }

// pushable is a controller with a plan of five networks and room for a push.
func pushable(t *testing.T) (*bench, *many, *plan.Plan) {
	t.Helper()
	m := &many{}
	b := &bench{t: t, s: fresh(), m: &m.machine, now: t0}
	never := netip.MustParsePrefix("198.18.9.0/24")
	var err error
	b.Controller, err = New(t.Context(), Options{PoP: "pop", Rules: policy.DefaultRules().ByLevel(), Treatment: "bbr", MinBytes: 100_000,
		Limits: plan.Limits{PoP: "pop", Max: 10, Congs: []string{"bbr"}, MaxLifeS: plan.MaxLifeS, MinChange: 3, Ramp: 3,
			Allow: []netip.Prefix{netip.MustParsePrefix("198.18.0.0/15")}, Deny: []netip.Prefix{never}},
	}, b.s, slog.New(slog.DiscardHandler), func() time.Time { return time.Unix(b.now, 0) })
	if err == nil {
		err = b.Attach(t.Context(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.rounds(12)
	return b, m, lastPlan(t, b.m)
}

// TestPush: a file's networks come in force under the next serial, frozen, and only if the plan that the
// operator saw is still the one in force.
func TestPush(t *testing.T) {
	b, m, was := pushable(t)
	file := *was
	file.Entries = was.Entries[1:]
	text := string(file.Text()) // unsigned: the content counts
	d, err := b.Compare(t.Context(), text)
	if err != nil || d.From != was.Serial || d.To != was.Serial+1 || len(d.Removed) != 1 || len(d.Added)+len(d.Changed) != 0 {
		t.Fatalf("%+v, %v", d, err)
	}
	plans := len(b.m.plans)
	var said *control.Error
	if err := b.Push(t.Context(), text, was.Serial-1, "ann"); !errors.As(err, &said) || said.Code != control.Conflict || len(b.m.plans) != plans {
		t.Errorf("against an earlier plan: %v", err)
	}
	if err := b.Push(t.Context(), text, was.Serial, "ann"); err != nil {
		t.Fatal(err)
	}
	next := lastPlan(t, b.m)
	if next.Serial != was.Serial+1 || len(next.Entries) != 4 || !b.frozen || strings.Join(m.by, " ") != "ann" {
		t.Errorf("serial %d, %d entries, frozen %t, offered by %q", next.Serial, len(next.Entries), b.frozen, m.by)
	}
	if err := plan.Verify(b.m.plans[len(b.m.plans)-1], b.PublicKey()); err != nil {
		t.Error(err)
	}
	b.rounds(8) // over half of its life: it is renewed, with what the operator pushed
	if renewed := lastPlan(t, b.m); renewed.Serial == next.Serial || len(renewed.Entries) != 4 {
		t.Errorf("after eight rounds: plan %d, %d entries", renewed.Serial, len(renewed.Entries))
	}
	if err := b.Unfreeze(t.Context(), "ann"); err != nil || m.frozen {
		t.Errorf("unfrozen: %v", err)
	}
	if b.rounds(1); len(lastPlan(t, b.m).Entries) != 5 {
		t.Error("unfrozen, a round does not bring back what it selects")
	}
}

// TestPushRefused: a file with a fault changes nothing, and the refusal names line, field, value and fix.
func TestPushRefused(t *testing.T) {
	b, m, was := pushable(t)
	good := string(was.Text())
	denied := *was
	denied.Entries = append(denied.Entries[:4:4], was.Entries[4])
	denied.Entries[4].Prefix, _ = record.ParsePrefix("198.18.9.0/24")
	for name, c := range map[string]struct{ text, want string }{
		"another PoP":           {edited(was, func(p *plan.Plan) { p.PoP = "ams" }), `line 2: pop: "ams": wrong PoP; this is "pop"`},
		"another salt":          {edited(was, func(p *plan.Plan) { p.Salt = make([]byte, 16) }), `salt: "00000000000000000000000000000000": this controller signs`},
		"another format":        {edited(was, func(p *plan.Plan) { p.GroupSettled = 16 }), `line 1: format: "2": the plans of this controller have format "1"`},
		"a format of old":       {strings.Replace(good, "congctl-plan 1", "congctl-plan 0", 1), "line 1: "},
		"a line changed":        {strings.Replace(good, " bbr ", " bbr2 ", 1), "hash"},
		"cut":                   {good[:len(good)/2], "truncated"},
		"nothing":               {"", "line 1"},
		"a network of the deny": {string(denied.Text()), "198.18.9.0/24: denied by 198.18.9.0/24; to treat it take that off treatment.never"},
		"a control unknown":     {edited(was, func(p *plan.Plan) { p.Entries[0].Cong = "reno" }), `cong: "reno": unknown congestion control; available: bbr`},
		"too many changes":      {edited(was, func(p *plan.Plan) { p.Entries = p.Entries[4:] }), "at most 3 new, or 3 changes; send it in steps"},
	} {
		plans, commits := len(b.m.plans), len(b.s.commits)
		err := b.Push(t.Context(), c.text, was.Serial, "ann")
		_, cerr := b.Compare(t.Context(), c.text)
		var said *control.Error
		if !errors.As(err, &said) || said.Code != control.Refused || !strings.Contains(err.Error(), c.want) || cerr == nil || cerr.Error() != err.Error() {
			t.Errorf("%s: %v, want %s; compared %v", name, err, c.want, cerr)
		}
		if len(b.m.plans) != plans || len(b.s.commits) != commits || b.frozen {
			t.Errorf("%s: something was done", name)
		}
	}
	m.refuse = errors.New("taken back just now")
	var said *control.Error
	if err := b.Push(t.Context(), edited(was, func(p *plan.Plan) { p.Entries = p.Entries[1:] }), was.Serial, "ann"); !errors.As(err, &said) || said.Code != control.Conflict || b.frozen || m.frozen {
		t.Errorf("refused by the host: %v; frozen %t", err, b.frozen)
	}
}

func edited(p *plan.Plan, change func(*plan.Plan)) string {
	next := *p
	next.Entries = append([]plan.Entry{}, p.Entries...)
	change(&next)
	return string(next.Text())
}

// TestAbort: one host has nothing to take back; of many the answer is the roll-out's.
func TestAbort(t *testing.T) {
	one := newBench(t, fresh(), &machine{}, t0)
	b, m, _ := pushable(t)
	m.abort = errors.New("abort: nothing rolls out")
	for _, c := range []*Controller{one.Controller, b.Controller} {
		var said *control.Error
		if err := c.Abort(t.Context(), "ann"); !errors.As(err, &said) || said.Code != control.Conflict {
			t.Errorf("%v", err)
		}
	}
	if m.abort = nil; b.Abort(t.Context(), "ann") != nil {
		t.Error("not aborted")
	}
}
