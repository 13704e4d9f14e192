package policy

import (
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

func allRules() Rules {
	r := DefaultRules()
	r.Select, r.Cap = SelectAll, false
	return r
}

// TestAllNetworks: all are treated from the first round on, the unknown ones too, by one entry; what is listed has its own, and what
// may not be treated has none.
func TestAllNetworks(t *testing.T) {
	r := allRules()
	listed, n := netOf("203.0.113.0/24")
	_, never := netOf("198.51.100.0/24")
	r.Always, r.Guards.Never = []Listed{{n, "radio"}}, []Listed{{Net: never, Reason: "probes"}}
	e := New(r, plan.NewDraws(make([]byte, 16), 0, 0))
	seen, _ := netOf("192.0.2.0/24")
	barred, _ := netOf("198.51.100.0/24")
	private, _ := netOf("10.1.1.0/24")
	at := int64(noon)
	round := func() Decision {
		at += r.WindowSeconds
		return e.Round(Input{Start: at, RoundStart: at + r.WindowSeconds, Rows: []record.Window{quiet(at, seen, 9, 1e6), quiet(at, barred, 9, 1e6), quiet(at, private, 9, 1e6)}})
	}
	d := round()
	if len(d.Selection) != 2 || d.Selection[0].Prefix != record.All || d.Selection[0].State != StateAlways || d.Selection[1].Prefix != listed || e.WindowsToDecide() != 0 {
		t.Fatalf("%+v", d.Selection)
	}
	for _, c := range []struct {
		of    record.Prefix
		state State
		says  string
	}{
		{record.All, StateAlways, "harm to all, or cost without a gain, pulls the brake. Treated in 15 of 16 blocks, the same for the whole PoP. All networks together: 0 pairs, at least 2 needed."},
		{listed, StateAlways, "Treated because the configuration says so: radio. In the plan since"},
		{seen, StateAlways, "Treated with all networks since 2026-"},
		{barred, StateExcluded, "Not treated: "},
		{private, StateExcluded, "private (RFC 1918)"},
	} {
		x, ok := e.Explain(c.of)
		if text := strings.Join(x.Verdict, " "); !ok || x.State != c.state || !strings.Contains(text, c.says) {
			t.Errorf("%s: %t, %s, %s", c.of, ok, x.State, text)
		}
	}
	treated := slices.DeleteFunc(e.Rows(), func(r Row) bool { return r.Since == 0 })
	if len(treated) != 3 {
		t.Errorf("treated: %+v", treated)
	}

	r.Select = SelectSlowest
	again := New(r, plan.NewDraws(make([]byte, 16), 0, 0))
	again.Replay(Input{Start: at, RoundStart: at + r.WindowSeconds}, d.Memory())
	e = again
	d = round()
	if len(d.Selection) != 1 || !slices.ContainsFunc(d.Events, func(ev Event) bool { return ev.Prefix == record.All && ev.Reason == "policy.select is no longer all" }) {
		t.Errorf("%+v, %+v", d.Selection, d.Events)
	}
}

// TestMemoryOfAll: what the groups have shown so far outlives a restart.
func TestMemoryOfAll(t *testing.T) {
	was := Memory{Selected: []Selected{{Prefix: record.All, State: StateAlways}}, Harm: effect.Harm{Until: noon}}
	was.Harm.LogM[0][1] = [2]float64{1.25, -0.5}
	b, err := json.Marshal(was)
	if err != nil {
		t.Fatal(err)
	}
	var is Memory
	if err := json.Unmarshal(b, &is); err != nil || !reflect.DeepEqual(is, was) {
		t.Errorf("%s: %+v, %v", b, is, err)
	}
}

func TestAllHasNoRoles(t *testing.T) {
	named, want := allRules(), "treats all networks: write what must stay untreated into treatment.never"
	named.HoldoutPrefixes = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
	if err := named.Validate(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestBrakeOfAll: the brake holds where nothing is harmed, whatever all networks do together, and is pulled where all are.
func TestBrakeOfAll(t *testing.T) {
	all := fleet.with(func(f *fleetWorld) { f.all = true })
	for _, c := range []struct {
		name   string
		world  fleetWorld
		within float64 // hours; 0: never
	}{
		{"nothing", all, 0},
		{"shocks that all share", all.with(func(f *fleetWorld) { f.shock = 0.7 }), 0},
		{"drift, slow while busy", all.with(func(f *fleetWorld) { f.drift, f.elastic = 0.6, -1 }), 0},
		{"12 networks, come and go", all.with(func(f *fleetWorld) { f.slow, f.churn = 12, true }), 0},
		{"0.5 x for all", all.with(func(f *fleetWorld) { f.harmed, f.harm = 1, 0.5 }), 56},
		{"0.5 x for all, shocks", all.with(func(f *fleetWorld) { f.harmed, f.harm, f.shock = 1, 0.5, 0.3 }), 72},
	} {
		n := replicates(t, 3)
		var at []float64
		for seed := range n {
			d := c.world.run(uint64(seed), 96)
			at = append(at, never(d.brake))
		}
		slices.Sort(at)
		t.Logf("%-28s brake after %.1f h (%.1f to %.1f)", c.name, at[n/2], at[0], at[n-1])
		if c.within == 0 && at[0] < 1000 || c.within > 0 && at[n/2] > c.within {
			t.Errorf("%s: brake after %.1f h of %v", c.name, at[n/2], at)
		}
	}
}

// TestReplayOfAll: an engine that replays what was stored goes on as the one that never stopped, with the evidence of its groups.
func TestReplayOfAll(t *testing.T) {
	w := fleet.with(func(f *fleetWorld) { f.slow, f.all, f.harmed, f.harm = 12, true, 1, 0.6 })
	r, rng := w.rules(), rand.New(rand.NewPCG(5, 14))
	draws := drawn{plan.NewDraws(make([]byte, 16), 0, 0)}
	ran, again, lives := New(r, draws), New(r, draws), w.lives(rng)
	var in []Selected
	var harm effect.Harm
	for start := int64(noon); start < noon+30*3600; start += r.WindowSeconds {
		hour := float64(start-noon) / 3600
		var rows []record.Window
		for i := range lives {
			rows = append(rows, planned(w.row(&lives[i], w.net(i), start, hour, 0, rng), in, r.Trial, draws, w.under(i, hour)))
		}
		input := Input{Start: start, RoundStart: start + r.WindowSeconds, Rows: rows}
		d := ran.Round(input)
		again.Replay(input, d.Memory())
		in, harm = d.Selection, d.Harm
	}
	if harm == (effect.Harm{Until: harm.Until}) {
		t.Fatalf("no group has ended: %+v", harm)
	}
	next := Input{Start: noon + 30*3600, RoundStart: noon + 30*3600 + r.WindowSeconds}
	a, b := ran.Round(next), again.Round(next)
	if !reflect.DeepEqual(a.Selection, b.Selection) || !reflect.DeepEqual(ran.Rows(), again.Rows()) {
		t.Errorf("%+v\n%+v", a.Selection, b.Selection)
	}
	x, _ := ran.Explain(record.All)
	y, _ := again.Explain(record.All)
	if !reflect.DeepEqual(x, y) {
		t.Errorf("%+v\n%+v", x, y)
	}
}
