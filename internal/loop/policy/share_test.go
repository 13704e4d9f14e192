package policy

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestShare: what moves a network that losses hold, alone in its group, by what its pairs show. One pair that is worth it with 0.8 may be luck;
// six below which a network is not tried are no luck any more; and a step back takes less than the step did.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		state State
		pairs int
		ratio float64
		want  EventKind
	}{
		{StateTrial, 0, 0.5, ""},
		{StateTrial, 1, 3, EventPromoted},
		{StateTrial, 1, 1.35, ""},
		{StateTrial, 3, 1.35, EventPromoted},
		{StateTrial, 3, 1.15, ""},
		{StateTrial, 6, 1.15, ""},
		{StateTrial, 6, 0.99, EventRetired},
		{StateTrial, 3, 0.99, ""},
		{StateTrial, 1, 0.7, EventRetired},
		{StatePromoted, 3, 1.25, ""},
		{StatePromoted, 3, 1.1, EventRetrial},
		{StatePromoted, 3, 0.7, EventRetired},
	} {
		e, a := New(DefaultRules(), firstBlock{}), &track{plain: plain{prefix: letter(t, "a")}}
		a.chosen = &Selected{Prefix: a.prefix, State: c.state, Class: ClassSingle}
		a.trial = &trial{evidence: effect.Evidence{Pairs: c.pairs, LogRatio: math.Log(c.ratio), Var: 0.02}}
		e.tracks = []*track{a}
		e.learn()
		b, _ := e.expects(a, "")
		if got := e.share(a); got.kind != c.want || got.kind == EventRetrial && !got.keeps {
			t.Errorf("%+v: %q, with P %.2f, of the group %.2f", c, got.kind, b.exceeds(worthTrying), e.ofGroup(a, "", b))
		}
	}
}

// TestGroupHoldsBack: a network that nine of ten like it in its site disprove is neither tried nor promoted, however lucky its own pair; and
// what is never treated leaves by its own pairs alone.
func TestGroupHoldsBack(t *testing.T) {
	e, a := New(DefaultRules(), firstBlock{}), &track{plain: plain{prefix: record.Prefix(0xc612_0100) | 24}}
	a.chosen = &Selected{Prefix: a.prefix, State: StateTrial, Class: ClassSingle}
	a.trial = &trial{evidence: effect.Evidence{Pairs: 3, LogRatio: math.Log(1.6), Var: 0.05}}
	e.tracks = []*track{a}
	for i := range 9 {
		o := &track{plain: plain{prefix: record.Prefix(0xc612_0200+uint64(i)<<8) | 24}}
		o.chosen, o.trial = &Selected{Prefix: o.prefix, State: StateTrial, Class: ClassSingle}, &trial{evidence: effect.Evidence{Pairs: 3, LogRatio: -0.1, Var: 0.05}}
		e.tracks = append(e.tracks, o)
	}
	e.learn()
	if v := e.share(a); v.kind != EventRetired {
		t.Errorf("in a group without a gain: %+v", v)
	}
	a.chosen.Role = record.ArmAA
	e.learn()
	if v := e.share(a); v.kind != "" {
		t.Errorf("A/A: %+v", v)
	}
}

// TestLostGain: of a gain of 1.5 x, shown exactly, nothing is left to treat for where others lose as much.
func TestLostGain(t *testing.T) {
	e, a := New(DefaultRules(), firstBlock{}), &track{plain: plain{prefix: letter(t, "a")}}
	a.chosen = &Selected{Prefix: a.prefix, State: StatePromoted, Class: ClassSingle}
	a.trial = &trial{evidence: effect.Evidence{Pairs: 9, LogRatio: math.Log(1.5), Var: 0.002}}
	e.tracks = []*track{a}
	for lost, want := range map[float64]EventKind{0: "", 0.4: EventRetired} {
		e.turns = Turns{Blocks: 96, Left: -1000 * lost, Moved: 1000, Spread: 1e5}
		e.learn()
		if v := e.share(a); v.kind != want {
			b, _ := e.expects(a, "")
			t.Errorf("%.2f lost: %+v; P %.2f", lost, v, b.exceeds(worthTrying))
		}
	}
}
