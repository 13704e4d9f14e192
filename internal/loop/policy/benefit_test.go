package policy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// posterior is the oracle of pooling: the joint normal distribution of a class, its networks and its
// prefixes, as a system of linear equations that is solved twice, for the mean and the variance of
// a prefix.
func posterior(list []observed, prefix record.Prefix, network string, class Class) (mean, variance float64) {
	q := ofBBR[class]
	at := map[string]int{} // of networks and prefixes; 0 is the class
	n := 1
	place := func(name string) int {
		if _, ok := at[name]; !ok {
			at[name] = n
			n++
		}
		return at[name]
	}
	type link struct{ from, to int }
	links := map[link]float64{}
	within := q.spread * q.spread
	join := func(p record.Prefix, network string) int {
		if network == "" {
			network = "site of " + p.Site().String()
		}
		middle := place(network)
		links[link{0, middle}] = 1 / (netSpread * within)
		i := place("prefix " + p.String())
		links[link{middle, i}] = 1 / within
		return i
	}
	target := join(prefix, triedIn(list, prefix, network, class))
	type point struct {
		i    int
		d, p float64
	}
	points := []point{{0, q.mean, 1 / (q.unsure * q.unsure)}}
	for _, o := range list {
		if o.class == class {
			points = append(points, point{join(o.prefix, o.network), o.estimate, 1 / o.variance})
		}
	}
	matrix := func() [][]float64 {
		a := make([][]float64, n)
		for i := range a {
			a[i] = make([]float64, n)
		}
		for l, p := range links {
			a[l.from][l.from] += p
			a[l.to][l.to] += p
			a[l.from][l.to] -= p
			a[l.to][l.from] -= p
		}
		for _, x := range points {
			a[x.i][x.i] += x.p
		}
		return a
	}
	weighted := make([]float64, n)
	for _, x := range points {
		weighted[x.i] += x.d * x.p
	}
	alone := make([]float64, n)
	alone[target] = 1
	return solve(matrix(), weighted)[target], solve(matrix(), alone)[target]
}

// triedIn is the network that a prefix was tried in, else the one that it has now.
func triedIn(list []observed, prefix record.Prefix, network string, class Class) string {
	for _, o := range list {
		if o.prefix == prefix && o.class == class {
			return o.network
		}
	}
	return network
}

// solve returns x of a x = b, by Gauss and Jordan; a is positive definite.
func solve(a [][]float64, b []float64) []float64 {
	for i := range a {
		for j := range a {
			if j == i {
				continue
			}
			f := a[j][i] / a[i][i]
			for k := range a[j] {
				a[j][k] -= f * a[i][k]
			}
			b[j] -= f * b[i]
		}
	}
	for i := range b {
		b[i] /= a[i][i]
	}
	return b
}

// TestPoolingIsThePosterior compares the closed form with the joint distribution, for prefixes
// with and without trials of their own and a name, alone in their network and not. Estimates lie near the prior: where they do not, it is
// not believed (TestConflict).
func TestPoolingIsThePosterior(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	names := []string{"", "cable", "mobile"}
	for range 200 {
		var list []observed
		for i := range r.IntN(9) {
			p, _ := record.ParsePrefix([]string{"198.18.0.0/24", "198.18.1.0/24", "198.18.2.0/24", "198.18.16.0/24", "198.18.17.0/24", "198.19.0.0/24",
				"2001:db8::/56", "2001:db8:0:100::/56", "2001:db8:1::/56"}[i])
			class := Classes[r.IntN(2)]
			list = append(list, observed{p, names[r.IntN(3)], class, ofBBR[class].mean + 0.1*r.NormFloat64(), 0.01 + r.Float64(), 1})
		}
		pooled := pool(ofBBR, list)
		for _, name := range []string{"198.18.0.0/24", "198.18.3.0/24", "198.18.17.0/24", "203.0.113.0/24", "2001:db8::/56"} {
			p, _ := record.ParsePrefix(name)
			for _, class := range Classes[:3] {
				network := names[r.IntN(3)]
				b := pooled.believe(p, network, class)
				mean, variance := posterior(list, p, network, class)
				if math.Abs(b.gain-mean) > 1e-9 || math.Abs(b.variance-variance) > 1e-9 {
					t.Fatalf("%v, %s of %s: %+v, want %.6f and %.6f", list, name, class, b, mean, variance)
				}
			}
		}
	}
}

// TestBelief by hand: without any trial a prefix is like its class in the lab; a trial of its own, exact,
// is what is believed; one in its site moves it more than one elsewhere.
func TestBelief(t *testing.T) {
	at := func(s string) record.Prefix { p, _ := record.ParsePrefix(s); return p }
	none := pool(ofBBR, nil).believe(at("198.18.0.0/24"), "", ClassSingle)
	want := 0.15*0.15 + 1.25*0.41*0.41
	if math.Abs(none.gain-0.73) > 1e-12 || math.Abs(none.variance-want) > 1e-12 || math.Abs(none.utility()-0.65) > 1e-12 {
		t.Errorf("without trials: %+v, want a variance of %.4f", none, want)
	}
	// (0.65 - ln 1.1) / 0.4823 = 1.150
	if p := none.exceeds(worthTrying); math.Abs(p-0.875) > 0.001 {
		t.Errorf("worth treating with %.4f", p)
	}
	p := pool(ofBBR, []observed{{at("198.18.0.0/24"), "", ClassSingle, 2, 1e-9, 1}})
	if b := p.believe(at("198.18.0.0/24"), "", ClassSingle); math.Abs(b.gain-2) > 1e-6 || b.variance > 1e-8 {
		t.Errorf("a trial of its own: %+v", b)
	}
	site, elsewhere := p.believe(at("198.18.1.0/24"), "", ClassSingle).gain, p.believe(at("198.19.1.0/24"), "", ClassSingle).gain
	if !(2 > site && site > elsewhere && elsewhere > 0.73) {
		t.Errorf("in its site %.3f, elsewhere %.3f", site, elsewhere)
	}
	if b := p.believe(at("198.18.1.0/24"), "", ClassMixed); math.Abs(b.gain-0.13) > 1e-12 {
		t.Errorf("of another class: %+v", b)
	}
}

// TestConflict: where a class has a narrow prior about nothing, three networks of a site that gain four times are believed, and one
// among ten that is harmed is not taken for its neighbours.
func TestConflict(t *testing.T) {
	at := func(i int) record.Prefix { p, _ := record.ParsePrefix(fmt.Sprintf("198.18.%d.0/24", i)); return p }
	var list []observed
	for i := range 3 {
		list = append(list, observed{at(i), "", ClassQueue, math.Log(4), 0.04, 1})
	}
	p := pool(ofBBR, list)
	if own, group := p.believe(at(0), "", ClassQueue).exceeds(worthTrying), p.mean(at(0), "", ClassQueue).exceeds(worthTrying); own < 0.99 || group < 0.9 {
		t.Errorf("gains of 4 x: worth treating with %.2f, the group with %.2f", own, group)
	}
	for i := range 10 {
		list = append(list, observed{at(16 + i), "", ClassBursts, math.Log([]float64{0.5, 1.5}[min(i, 1)]), 0.04, 1})
	}
	p = pool(ofBBR, list)
	if harmed, other := p.believe(at(16), "", ClassBursts), p.believe(at(17), "", ClassBursts); harmed.gain > -0.4 || other.gain < 0.2 {
		t.Errorf("harmed by half %+v, others at 1.5 x %+v", harmed, other)
	}
}

// TestCommonIsNotItsOwn: what all estimates share makes others' trials say less, and takes nothing off a prefix's own, which is alone in its
// network here: prior and estimate, as without it.
func TestCommonIsNotItsOwn(t *testing.T) {
	own := observed{letter(t, "a"), "", ClassMixed, 0.3, 0.02, 1}
	p := pool(ofBBR, []observed{own})
	apart := p.believe(own.prefix, "", ClassMixed)
	p.shock = 0.025
	if b := p.believe(own.prefix, "", ClassMixed); math.Abs(b.gain-apart.gain) > 1e-9 || math.Abs(b.variance-apart.variance) > 1e-9 {
		t.Errorf("%+v, without what is shared %+v", b, apart)
	}
	if a, b := p.believe(letter(t, "b"), "", ClassMixed), pool(ofBBR, []observed{own}).believe(letter(t, "b"), "", ClassMixed); a.gain >= b.gain || a.gain <= 0.13 {
		t.Errorf("of another: %+v, without what is shared %+v", a, b)
	}
	own.draws = 12
	often := pool(ofBBR, []observed{own})
	often.shock = p.shock
	if a, b := p.believe(letter(t, "b"), "", ClassMixed), often.believe(letter(t, "b"), "", ClassMixed); a.gain >= b.gain {
		t.Errorf("of another that had one draw: %+v, twelve: %+v", a, b)
	}
}

// TestAAStays: an A/A prefix stays on trial as long as it is seen, whatever its pairs show, and teaches no other.
func TestAAStays(t *testing.T) {
	for _, off := range []float64{0, 0.7} { // its blocks of treatment happen to be faster
		r := DefaultRules()
		r.AAPrefixes = []netip.Prefix{letter(t, "a").Netip()}
		e := New(r, firstBlock{})
		for w := range int64(150) {
			row := quiet(noon+300*w, letter(t, "a"), 30, 100_000)
			row.MinRTTUs, row.SRTTUs, row.EligibleRetransBytes = 60_000, 60_000, row.EligibleSentBytes/50
			if w > 12 {
				row.Arm = record.ArmAA
				row.LogRateMean += off * float64(row.Start/600%2)
			}
			if d := e.Round(Input{Start: row.Start, RoundStart: row.Start + 300, Rows: []record.Window{row}}); w > 3 && len(d.Events) > 0 {
				t.Fatalf("window %d: %+v", w, d.Events)
			}
		}
		if x, _ := e.Explain(letter(t, "a")); x.State != StateAA || len(x.Experiment.Pairs) < 25 || len(e.pooled.own) > 0 {
			t.Errorf("%s, %d pairs; others learnt %v", x.State, len(x.Experiment.Pairs), e.pooled.own)
		}
	}
}

// TestRefusedWithoutItsName: trials of the same name say that a is not worth one, and the guard rwnd holds
// it back. Without the guard it is not wanted; with it, it is refused as if it had no name, so that a
// replay without names tells no refusal twice and forgets none.
func TestRefusedWithoutItsName(t *testing.T) {
	for _, rwnd := range []float64{0, 0.5} {
		e := New(DefaultRules(), firstBlock{})
		for w := range int64(12) {
			row := quiet(noon+300*w, letter(t, "a"), 30, 100_000)
			row.MinRTTUs, row.SRTTUs, row.EligibleRetransBytes, row.RwndShare = 60_000, 60_000, row.EligibleSentBytes/50, rwnd
			e.Round(Input{Start: row.Start, RoundStart: row.Start + 300, Rows: []record.Window{row}, Starved: "so that nothing is tried"})
		}
		e.in.Starved = ""
		e.Name(called{letter(t, "a"): "cable"})
		var list []observed
		for _, name := range []string{"b", "c", "d", "e"} {
			list = append(list, observed{letter(t, name), "cable", ClassSingle, -0.8, 0.01, 1})
		}
		e.pooled = pool(ofBBR, list)
		if c, ok := e.candidate(e.tracks[0]); ok != (rwnd > 0) || ok && c.guard != GuardRwnd {
			t.Errorf("receive window %v: %t, %q", rwnd, ok, c.guard)
		}
	}
}

// TestUnlikelyIsNotRefused: a guard refuses what would be tried without it, not each network that a draw could
// try, which are most of those that nothing slows.
func TestUnlikelyIsNotRefused(t *testing.T) {
	for again, want := range map[uint64]int{0: 0, 50: 1} { // without losses, and with single ones
		e := New(DefaultRules(), firstBlock{})
		refused := 0
		for w := range int64(14) {
			row := quiet(noon+300*w, letter(t, "a"), 30, 100_000)
			row.MinRTTUs, row.SRTTUs, row.RwndShare = 60_000, 60_000, 0.5
			row.EligibleRetransBytes = row.EligibleSentBytes * again / 2500
			refused = e.Round(Input{Start: row.Start, RoundStart: row.Start + 300, Rows: []record.Window{row}}).Refused
		}
		if refused != want {
			t.Errorf("%d of 2500 bytes lost: %d refused, want %d", again, refused, want)
		}
	}
}

// TestFutileByTheWorseOutcome: the rate of a rises by half and its goodput falls by a quarter. The trial
// ends without evidence of harm, since what is expected is the worse of the two; with the rate alone it goes on.
func TestFutileByTheWorseOutcome(t *testing.T) {
	for _, knows := range []bool{true, false} {
		e := New(DefaultRules(), firstBlock{})
		said := ""
		for w := range int64(12 * 5) {
			row := quiet(noon+300*w, letter(t, "a"), 30, 100_000)
			row.MinRTTUs, row.SRTTUs, row.EligibleRetransBytes = 60_000, 60_000, row.EligibleSentBytes/50
			if knows {
				row.LogGoodputMean, row.LogGoodputVar = 11, 0.4
			}
			row = planned(row, e.finish(Decision{}).Selection, DefaultTrial(), firstBlock{}, treated{effect: 1.5, goodput: 0.75})
			for _, ev := range e.Round(Input{Start: row.Start, RoundStart: row.Start + 300, Rows: []record.Window{row}}).Events {
				if ev.Kind == EventRetired || ev.Kind == EventDemoted {
					said = ev.Reason
				}
			}
		}
		if ends := strings.HasPrefix(said, "hardly worth it any more: goodput x 0."); ends != knows {
			t.Errorf("goodput known %t: %q", knows, said)
		}
	}
}

// TestWrongPriorIsOutweighed: where the lab's numbers are wrong, twenty trials are believed, not they.
func TestWrongPriorIsOutweighed(t *testing.T) {
	var list []observed
	for i := range 20 {

		p, _ := record.ParsePrefix(fmt.Sprintf("198.%d.%d.0/24", 18+i%2, 16*(i/2)))
		list = append(list, observed{p, "", ClassBursts, math.Log(1.5), 0.02, 1})
	}
	if b := pool(ofBBR, list).believe(letter(t, "a"), "", ClassBursts); b.exceeds(worthTrying) < tryFrom {
		t.Errorf("twenty trials at x 1.5: %+v, worth treating with %.2f", b, b.exceeds(worthTrying))
	}
}

// TestSiteByItsNetwork: prefixes without a name are pooled by site, and the sentence says which.
func TestSiteByItsNetwork(t *testing.T) {
	r := DefaultRules()
	e := New(r, firstBlock{})
	site := func(s string) record.Prefix { p, _ := record.ParsePrefix(s); return p }
	e.pooled = pool(ofBBR, []observed{
		{site("198.18.17.0/24"), "", ClassSingle, 1, 0.1, 1}, {site("203.0.113.0/24"), "", ClassSingle, 0, 0.1, 1}, {site("2001:db8:0:100::/56"), "", ClassSingle, 1, 0.1, 1},
	})
	for prefix, want := range map[string]string{"198.18.30.0/24": ", 198.18.16.0/20 x 2.72 in 1 of 1 trial", "2001:db8:0:200::/56": ", 2001:db8::/48 x 2.72 in 1 of 1 trial"} {
		if got := e.likeText(&track{plain: plain{prefix: site(prefix)}}, ClassSingle); !strings.Contains(got, want) {
			t.Errorf("%s: %s", prefix, got)
		}
	}
}

// TestPriorOfAnyTreatment: what the lab has not measured is tried where losses hold CUBIC, and what trials show of it soon
// outweighs the guess, either way.
func TestPriorOfAnyTreatment(t *testing.T) {
	guess := pool(priorsOf(Rules{Treatment: "westwood"}), nil)
	for class, least := range map[Class]float64{ClassSingle: tryFrom, ClassMixed: tryFrom, ClassClean: 0} {
		if p := guess.believe(letter(t, "a"), "", class).exceeds(worthTrying); p < least || p > 0.5 {
			t.Errorf("%s: worth treating with %.2f", class, p)
		}
	}
	for gain, want := range map[float64]bool{math.Log(1.5): true, math.Log(0.9): false} {
		var list []observed
		for i := range 8 {
			list = append(list, observed{letter(t, string(rune('b'+i))), "", ClassSingle, gain, 0.01, 1})
		}
		if p := pool(priorsOf(Rules{Treatment: "westwood"}), list).believe(letter(t, "a"), "", ClassSingle).exceeds(worthTrying); p >= 0.6 != want || p < 0.4 == want {
			t.Errorf("after eight trials of x %.1f: worth treating with %.2f", math.Exp(gain), p)
		}
	}
}
