package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Selection by benefit, Rules.Select: which prefixes are tried. share.go has what follows.
//
//	in:  known >= Known, a steady class, no guard, and
//	     P >= tryFrom and P of the group >= tryGroupFrom, most traffic times utility first, or
//	     P >= exploreFrom, if a draw of the posterior exceeds worthTrying, on exploreShare of the traffic at most
//
// Level plays no part: a fast network that loses packets one by one is held back too. Nor does how often
// a network is slow and fast by turns: what it gains shows in its own blocks. The draw is keyed by
// prefix and time (Thompson, Biometrika 25, 1933), so that a replay draws alike.

// Selections.
const (
	SelectSlowest = "slowest-fifth" // by level: group_share and what follows
	SelectBenefit = "benefit"       // by what the treatment is expected to gain
	SelectAll     = "all"           // every network, with control blocks of the whole PoP
)

const (
	exploreFrom    = 0.03     // below it is no use: a hundred trials for three gains
	exploreShare   = 0.01     // of the traffic
	exploreSeconds = 6 * 3600 // one draw for as long as a trial lasts
)

// promising is candidate for selection by benefit.
func (e *Engine) promising(t *track, network string) (c candidate, ok bool) {
	b, ok := e.expects(t, network)
	c = candidate{t: t, s: t.standing(), b: b, busy: t.busy(e.now, e.rules)}
	return c, ok && b.exceeds(worthTrying) >= exploreFrom && (!c.likely() || e.ofGroup(t, network, b) >= tryGroupFrom)
}

// likely reports whether a candidate may be tried without a draw.
func (c *candidate) likely() bool { return c.b.exceeds(worthTrying) >= tryFrom }

func comparePromising(a, b *candidate) int {
	return cmp.Or(record.CompareBool(b.likely(), a.likely()), cmp.Compare(b.busy*b.b.utility(), a.busy*a.b.utility()), cmp.Compare(a.t.prefix, b.t.prefix))
}

// purse is what is explored, in eligible connections of the past.
type purse struct{ all, explored float64 }

func (e *Engine) purse() (p purse) {
	if e.rules.Select != SelectBenefit {
		return p
	}
	for _, t := range e.tracks {
		busy := t.busy(e.now, e.rules)
		p.all += busy
		if t.chosen != nil && t.chosen.State == StateTrial && t.chosen.Explored {
			p.explored += busy
		}
	}
	return p
}

// affords reports whether a prefix may be tried now, and takes its cost.
func (e *Engine) affords(p *purse, c *candidate) bool {
	if c.explore = e.rules.Select == SelectBenefit && !c.likely(); !c.explore {
		return true
	}
	if p.explored+c.busy > exploreShare*p.all || e.draws.Chance(c.t.prefix, e.start(e.now)/exploreSeconds) >= c.b.exceeds(worthTrying) {
		return false
	}
	p.explored += c.busy
	return true
}

// text says what is expected.
func (b belief) text() string {
	sd := math.Sqrt(b.variance)
	outcome := "rate"
	if b.goodput {
		outcome = "goodput"
	}
	lost := ""
	if b.lost >= 0.01 {
		lost = fmt.Sprintf(", less x %.2f that others lose,", math.Exp(b.lost))
	}
	return fmt.Sprintf("%s x %.2f expected (%.2f to %.2f)%s for %s more retransmitted, worth treating with a probability of %s",
		outcome, math.Exp(b.gain), math.Exp(b.gain-1.96*sd), math.Exp(b.gain+1.96*sd), lost, percent(b.resent, 1), percent(b.exceeds(worthTrying), 0))
}

// promiseText says why a prefix is tried.
func (e *Engine) promiseText(c *candidate) string {
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
	not := fmt.Sprintf("Not tried: %s; %s; %s.", e.classText(t, class), e.likeText(t, class), b.text())
	switch p, group := b.exceeds(worthTrying), e.ofGroup(t, e.networkOf(t), b); {
	case p < exploreFrom:
		return not + fmt.Sprintf(" It is tried from %s.", percent(tryFrom, 0))
	case p < tryFrom:
		return not + fmt.Sprintf(" It is tried from %s, and from %s by a draw, on %s of the traffic.", percent(tryFrom, 0), percent(exploreFrom, 0), percent(exploreShare, 0))
	case group < tryGroupFrom:
		return not + fmt.Sprintf(" The networks of its class around it are worth treating with a probability of %s; %s are needed.", percent(group, 0), percent(tryGroupFrom, 0))
	}
	return ""
}

// byPreference sorts candidates, the best reason first.
func (e *Engine) byPreference(list []*candidate) {
	if e.rules.Select == SelectBenefit {
		slices.SortFunc(list, comparePromising)
		return
	}
	slices.SortFunc(list, compareCandidates)
}
