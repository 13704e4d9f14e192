package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Selection by benefit, Rules.Select: which prefixes are tried, and when a trial is given up.
// P is the probability that the utility of benefit.go exceeds worthTrying.
//
//	in:  known >= Known, a steady class, flap <= SelectFlap, no guard, and
//	     P >= exploitFrom, most traffic times utility first, or
//	     P >= exploreFrom, if a draw of the posterior exceeds worthTrying, on exploreShare of the traffic at most;
//	     the traffic on trial times 1 - P, summed up, is wasteShare of all at most
//	out: of a trial when the probability to exceed worthKeeping is below hopeless
//
// Level plays no part: a fast network that loses packets one by one is held back too. A path that is
// good and bad by turns is left alone once its flap rate shows it, as in the other selection; until then its class can be
// steady for Known windows, and it may be tried. All that ends
// a trial or a promotion by what it shows is the same as in the other selection. The draw is keyed by
// prefix and time (Thompson, Biometrika 25, 1933), so that a replay draws alike.

// Selections.
const (
	SelectSlowest = "slowest-fifth" // by level: group_share and what follows
	SelectBenefit = "benefit"       // by what the treatment is expected to gain
	SelectAll     = "all"           // every network, with control blocks of the whole PoP
)

const (
	exploitFrom    = 0.4      // below even odds, since a trial that fails costs hours and one that succeeds gains days
	exploreFrom    = 0.03     // below it is no use: a hundred trials for three gains
	exploreShare   = 0.01     // of the traffic
	exploreSeconds = 6 * 3600 // one draw for as long as a trial lasts
	wasteShare     = 0.03     // of the traffic, expected to be tried in vain
	sureFrom       = 0.8      // between even odds and what the lab says of single losses, 0.88
	hopeless       = 0.1
)

// promising is candidate for selection by benefit.
func (e *Engine) promising(t *track, network string) (c candidate, ok bool) {
	b, ok := e.expects(t, network)
	s := t.standing()
	if !ok || b.exceeds(worthTrying) < exploreFrom || s.flap() > e.rules.SelectFlap {
		return c, false
	}
	return candidate{t: t, s: s, b: b, busy: t.busy(e.now, e.rules)}, true
}

func comparePromising(a, b candidate) int {
	likely := func(c candidate) bool { return c.b.exceeds(worthTrying) >= exploitFrom }
	return cmp.Or(record.CompareBool(likely(b), likely(a)), cmp.Compare(b.busy*b.b.utility(), a.busy*a.b.utility()), cmp.Compare(a.t.prefix, b.t.prefix))
}

// purse is what trials may cost, in eligible connections of the past.
type purse struct{ all, wasted, explored float64 }

func (e *Engine) purse() (p purse) {
	if e.rules.Select != SelectBenefit {
		return p
	}
	for _, t := range e.tracks {
		busy := t.busy(e.now, e.rules)
		p.all += busy
		if t.chosen == nil || t.chosen.State != StateTrial || t.chosen.Role == record.ArmHoldout { // which would cost for ever
			continue
		}
		if b, ok := e.expects(t, t.chosen.Network); ok {
			p.wasted += busy * (1 - b.exceeds(worthTrying))
		}
		if t.chosen.Explored {
			p.explored += busy
		}
	}
	return p
}

// affords reports whether a prefix may be tried now, and takes its cost. One trial is always
// affordable: a small PoP could not begin otherwise. Unlikely trials may use up half of the waste only, so that
// likely ones need not wait for them: in a PoP of sixty, two at even odds kept those that gained most
// waiting for hours. Hold-out and A/A prefixes are judged, and cost,
// as if they were treated: they are compared with those that are.
func (e *Engine) affords(p *purse, c *candidate) bool {
	if e.rules.Select != SelectBenefit {
		return true
	}
	likely, share := c.b.exceeds(worthTrying), wasteShare
	if likely < sureFrom {
		share /= 2
	}
	cost := c.busy * (1 - likely)
	if p.wasted > 0 && p.wasted+cost > share*p.all {
		return false
	}
	if c.explore = likely < exploitFrom; c.explore {
		if p.explored+c.busy > exploreShare*p.all || e.draws.Chance(c.t.prefix, e.start(e.now)/exploreSeconds) >= likely {
			return false
		}
		p.explored += c.busy
	}
	p.wasted += cost
	return true
}

// futile ends a trial that can hardly be worth its cost any more. Stopping for that reason needs no
// correction: it can only lose a promotion.
func (e *Engine) futile(t *track) (why string, yes bool) {
	if e.rules.Select != SelectBenefit || t.chosen.State != StateTrial || t.trial.evidence.Pairs == 0 {
		return "", false
	}
	b, ok := e.expects(t, t.chosen.Network)
	if p := b.exceeds(worthKeeping); !ok || p >= hopeless {
		return "", false
	}
	return "hardly worth it any more: " + b.text(), true
}

// text says what is expected.
func (b belief) text() string {
	sd := math.Sqrt(b.variance)
	outcome := "rate"
	if b.goodput {
		outcome = "goodput"
	}
	return fmt.Sprintf("%s x %.2f expected (%.2f to %.2f) for %s more retransmitted, worth a trial with a probability of %s",
		outcome, math.Exp(b.gain), math.Exp(b.gain-1.96*sd), math.Exp(b.gain+1.96*sd), percent(b.resent, 1), percent(b.exceeds(worthTrying), 0))
}

// promiseText says why a prefix is tried.
func (e *Engine) promiseText(c candidate) string {
	text := e.classText(c.t, c.b.class) + "; " + e.likeText(c.t, c.b.class) + "; " + c.b.text()
	if c.explore {
		text += "; tried to learn"
	}
	return text
}

// likeText says what others of the class gained: here, those of its network too, and in the lab where
// none was tried yet.
func (e *Engine) likeText(t *track, class Class) string {
	all := e.pooled.classes[class]
	if all.trials == 0 {
		if t := e.rules.Treatment; !GainsKnown(t) {
			return "the lab has not measured " + t
		}
		return labText(class)
	}
	text := "networks like it gained " + all.text()
	network := e.networkOf(t)
	if own, ok := e.pooled.own[t.prefix]; ok && own.class == class {
		network = own.network
	}
	k := groupOf(t.prefix, network, class)
	if g := e.pooled.groups[k]; g.trials > 0 && g.trials < all.trials {
		text += fmt.Sprintf(", %s %s", cmp.Or(k.name, siteText(t.prefix)), g.text())
	}
	return text
}

func (l learnt) text() string {
	return fmt.Sprintf("x %.2f in %d of %s", math.Exp(l.weighted/l.precision), l.gained, answer.Count(l.trials, "trial"))
}

// classText is what holds a prefix back, in words.
func (e *Engine) classText(t *track, class Class) string {
	if s := e.signature(t, t.pool(e.now, e.rules)); s != nil && s.Class == class {
		return s.causeText()
	}
	return "it was of class " + string(class)
}

// unpromising says why a prefix is not selected by benefit, "" if only room or a guard holds it back.
func (e *Engine) unpromising(t *track) string {
	class, in := t.steady(e.rules)
	if class == "" {
		s := e.signature(t, t.pool(e.now, e.rules))
		if s == nil || len(t.history) == 0 || t.history[len(t.history)-1].class == 0 {
			return "Not tried: what slows it is " + signatureText(nil, e.rules) + "."
		}
		return fmt.Sprintf("Not tried: it is %s now, but was in %d of the last %d known windows; at least %d are needed.",
			s.Class, in, e.rules.Known(), int(math.Ceil(steadyShare*float64(e.rules.Known()))))
	}
	b, _ := e.expects(t, e.networkOf(t))
	if p := b.exceeds(worthTrying); p < exploitFrom {
		also := "."
		if p >= exploreFrom {
			also = fmt.Sprintf(", and from %s by a draw, on %s of the traffic.", percent(exploreFrom, 0), percent(exploreShare, 0))
		}
		return fmt.Sprintf("Not tried: %s; %s; %s. It is tried from %s%s", e.classText(t, class), e.likeText(t, class), b.text(), percent(exploitFrom, 0), also)
	}
	if s := t.standing(); s.flap() > e.rules.SelectFlap {
		return "Not tried: it is good and bad by turns: " + e.flapText(s) + "."
	}
	return ""
}

// byPreference sorts candidates, the best reason first.
func (e *Engine) byPreference(list []candidate) {
	if e.rules.Select == SelectBenefit {
		slices.SortFunc(list, comparePromising)
		return
	}
	slices.SortFunc(list, compareCandidates)
}
