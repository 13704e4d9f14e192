package policy

import (
	"math"
	"strings"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// Benefit: what the treatment is expected to do to a prefix, before and while it is tried. What
// the lab measured for its class is the start, and each trial here corrects it, for prefixes of the
// class and most for those of its network:
//
//	class    theta ~ N(mean, unsure^2)          what the treatment gained, ln of the rate
//	network  phi   ~ N(theta, spread^2 / 4)     by name, else the site: /20 of IPv4, /48 of IPv6
//	prefix   gamma ~ N(phi, spread^2)
//	trial    d     ~ N(gamma, var)              the estimate of its pairs
//
//	utility U = gamma - lost - price * (what is retransmitted in addition, a share); kappa.go has lost
//
// All is normal, so the posterior has a closed form: a message of precision from each prefix to
// its network and from each network to its class, without its own on the way back. If the lab's numbers
// are wrong for the clients here, the trials outweigh them.
//
// Source: Gelman and others, Bayesian Data Analysis (2013), 5.4; Pearl, Probabilistic Reasoning
// in Intelligent Systems (1988), 4.2, for the messages.

// prior is what the lab measured on the paths of a class, or a guess.
type prior struct {
	mean, unsure, spread float64 // of ln gain: mean, its uncertainty, spread between paths
	resent               float64 // share retransmitted under it, less that under CUBIC
}

type priors map[Class]prior

// Priors by treatment: of BBR version 1 on 115 paths of the lab, a switch at 100 kB, responses of 0.15 to 3 MB (docs/policy.md,
// "Signature"), means shrunk and spreads those that noise leaves; of cubic_lt from the first byte on the 77 paths of
// scenarios/pop/paths.yml, with the classes that these paths had in BBR's table.
var (
	ofBBR = priors{ // without a pacing cap
		ClassSingle:  {0.73, 0.15, 0.41, 0.08},
		ClassMixed:   {0.13, 0.15, 0.25, 0.07},
		ClassBursts:  {0.00, 0.12, 0.10, 0.06},
		ClassPolicer: {0.00, 0.12, 0.10, 0.05},
		ClassQueue:   {0.02, 0.12, 0.10, 0.05},
		ClassClean:   {0.01, 0.10, 0.08, 0.00},
	}
	ofCubicLT = priors{
		ClassSingle:  {0.78, 0.15, 0.45, 0.007},
		ClassMixed:   {0.25, 0.15, 0.40, 0.001},
		ClassBursts:  {0.03, 0.12, 0.10, 0.002},
		ClassPolicer: {0.00, 0.12, 0.10, 0.007},
		ClassQueue:   {0.01, 0.12, 0.10, 0.004},
		ClassClean:   {0.01, 0.10, 0.08, 0.001},
	}
)

// ofOthers is of a treatment that the lab has not measured: where losses hold CUBIC it may gain half or lose a third, and where a queue or
// nothing does, little. An operator who names it expects something, and what is never tried is never learnt: at a mean of 0 no network
// would be.
var ofOthers = priors{
	ClassSingle:  {0.05, 0.4, 0.41, 0.03},
	ClassMixed:   {0.05, 0.4, 0.41, 0.03},
	ClassBursts:  {0, 0.2, 0.2, 0.05},
	ClassPolicer: {0, 0.2, 0.2, 0.05},
	ClassQueue:   {0, 0.2, 0.2, 0.05},
	ClassClean:   {0, 0.06, 0.06, 0.01},
}

const (
	// unlike is how much less is known of a treatment that is like a measured one.
	unlike = 3
	// capLeaves, a share: of what BBR resends in addition a pacing cap leaves that once it is known, on the same 77 paths 2.0 of 5.7 points.
	capLeaves = 0.35
)

// priorsOf returns what is known of the rules' treatment before it is tried: of other versions of BBR what BBR's does, less surely; of others
// a guess.
func priorsOf(r Rules) priors {
	switch {
	case r.Treatment == "cubic_lt":
		return ofCubicLT
	case !strings.HasPrefix(r.Treatment, "bbr"):
		return ofOthers
	}
	list := priors{}
	for class, q := range ofBBR {
		if r.Treatment != "bbr" || r.TreatmentVersion > 1 {
			q.unsure *= unlike
		}
		if r.Cap {
			q.resent *= capLeaves
		}
		list[class] = q
	}
	return list
}

// GainsKnown reports whether the lab has measured a treatment, or one that is like it.
func GainsKnown(treatment string) bool {
	return treatment == "cubic_lt" || strings.HasPrefix(treatment, "bbr")
}

const (
	netSpread    = 0.25 // of the variance between prefixes of a class: that between its networks
	price        = 1.0  // ln rate for a share of 1 resent: 10 points more cost as much as 10 % of the rate
	resentWeight = 2    // pairs that the lab's share counts as, beside a prefix's own
	endedVar     = 0.05 // added to the variance of a trial that ended: paths change
)

// worthTrying, ln, is the utility below which a treatment is no use.
var worthTrying = math.Log(1.1)

// observed is what a trial says of its prefix.
type observed struct {
	prefix   record.Prefix
	network  string // "" if it has no name
	class    Class
	estimate float64 // ln gain
	variance float64
	draws    int // behind it, of which networks that are tried at the same time have the same
}

// belief is what is expected of a prefix.
type belief struct {
	goodput  bool // that it says so of goodput, not of the rate
	class    Class
	gain     float64 // mean of ln gain
	variance float64
	resent   float64
	lost     float64 // by others, for each network like it, ln of rate
}

func (b belief) utility() float64 { return b.gain - b.lost - price*b.resent }

// exceeds is the probability that the utility is above a limit.
func (b belief) exceeds(limit float64) float64 {
	return stat.Normal((b.utility() - limit) / math.Sqrt(b.variance))
}

// message is a normal estimate as precision and precision times mean, which add up.
type message struct{ precision, weighted float64 }

func (m message) plus(o message) message {
	return message{m.precision + o.precision, m.weighted + o.weighted}
}
func (m message) minus(o message) message {
	return message{m.precision - o.precision, m.weighted - o.weighted}
}

// blurred is the message with variance added: what it says one level up or down.
func (m message) blurred(variance float64) message {
	if m.precision <= 0 {
		return message{}
	}
	p := 1 / (1/m.precision + variance)
	return message{p, p * m.weighted / m.precision}
}

func (o observed) message() message { return message{1 / o.variance, o.estimate / o.variance} }

// Networks names client networks by their operator: a name of the operator's file, or an autonomous
// system. Of returns "" for none.
type Networks interface {
	Of(record.Prefix) string
}

// Name sets the names by which prefixes are pooled that are selected from now on. What was tried is pooled
// under the name that it was selected with, which is stored with it: a replay needs no names.
func (e *Engine) Name(n Networks) { e.networks = n }

// networkOf returns the name under which a prefix is pooled.
func (e *Engine) networkOf(t *track) string {
	switch {
	case t.chosen != nil:
		return t.chosen.Network
	case e.networks == nil:
		return ""
	}
	return e.networks.Of(t.prefix)
}

// group is a network as far as its prefixes of one class go.
type group struct {
	name  string
	site  record.Prefix // where it has no name
	class Class
}

func groupOf(p record.Prefix, name string, class Class) group {
	if name != "" {
		return group{name: name, class: class}
	}
	return group{site: p.Site(), class: class}
}

// learnt is what the trials of a network or class say.
type learnt struct {
	message
	trials, gained int // those above worthTrying
	draws          int // behind the trial that has most
}

func (l learnt) plus(m message, trials, gained, draws int) learnt {
	return learnt{l.message.plus(m), l.trials + trials, l.gained + gained, max(l.draws, draws)}
}

// pooling is all that trials say.
type pooling struct {
	lab     priors
	groups  map[group]learnt
	classes map[Class]learnt
	own     map[record.Prefix]observed
	shock   float64 // variance of what the levels of all change by from block to block; 0 where each network has draws of its own
}

// common is the variance that all estimates of a network or class share: trials that have the same draws are wrong together.
func (p pooling) common(l learnt) float64 { return 2 * p.shock / float64(max(1, l.draws)) }

// pool sums up trials, in the order of the list.
func pool(lab priors, list []observed) pooling {
	p := pooling{lab, map[group]learnt{}, map[Class]learnt{}, map[record.Prefix]observed{}, 0}
	var order []group
	for _, o := range list {
		k := groupOf(o.prefix, o.network, o.class)
		if _, ok := p.groups[k]; !ok {
			order = append(order, k)
		}
		spread, gained := lab[o.class].spread, 0
		if o.estimate > worthTrying {
			gained = 1
		}
		p.groups[k] = p.groups[k].plus(o.message().blurred(spread*spread), 1, gained, o.draws)
		p.own[o.prefix] = o
	}
	for _, k := range order {
		spread, g := lab[k.class].spread, p.groups[k]
		p.classes[k.class] = p.classes[k.class].plus(g.blurred(netSpread*spread*spread), g.trials, g.gained, g.draws)
	}
	return p
}

// believe returns the posterior of a prefix that is of a class now.
func (p pooling) believe(prefix record.Prefix, network string, class Class) belief {
	return p.given(prefix, network, class, p.own[prefix])
}

// mean returns the posterior of phi, the mean of a network's prefixes of a class.
func (p pooling) mean(prefix record.Prefix, network string, class Class) belief {
	if own, tried := p.own[prefix]; tried && own.class == class {
		network = own.network
	}
	m := p.above(prefix, network, class, message{})
	return belief{class: class, gain: m.weighted / m.precision, variance: 1 / m.precision, resent: p.lab[class].resent}
}

// above is the message to a network's prefixes, without what one of them said.
func (p pooling) above(prefix record.Prefix, network string, class Class, without message) message {
	q := p.lab[class]
	between := netSpread * q.spread * q.spread
	g := p.groups[groupOf(prefix, network, class)]
	all := p.classes[class]
	others := all.message.minus(g.blurred(between)).blurred(p.common(all))
	return message{1 / (q.unsure * q.unsure), q.mean / (q.unsure * q.unsure)}.plus(others).blurred(between).beside(g.minus(without).blurred(p.common(g)))
}

// given is believe with another estimate in the place of the prefix's own.
func (p pooling) given(prefix record.Prefix, network string, class Class, instead observed) belief {
	q := p.lab[class]
	within := q.spread * q.spread
	own, tried := p.own[prefix]
	tried = tried && own.class == class
	var m message
	if tried {
		m = p.above(prefix, own.network, class, own.message().blurred(within)).blurred(within).beside(instead.message())
	} else {
		m = p.above(prefix, network, class, message{}).blurred(within)
	}
	return belief{class: class, gain: m.weighted / m.precision, variance: 1 / m.precision, resent: q.resent}
}

// conflict in standard deviations from which on what is nearer is believed.
const conflict = 2

// beside joins what was measured nearer to m. Where that is further from m than both together explain, m says that much less: a prior of
// narrow spread would otherwise blind a network, or a prefix, that is different for as long as it lives.
func (m message) beside(near message) message {
	if near.precision <= 0 {
		return m.plus(near)
	}
	off, variance := near.weighted/near.precision-m.weighted/m.precision, 1/near.precision
	if off*off > conflict*conflict*(1/m.precision+variance) {
		wide := 1 / (off*off - variance)
		m = message{wide, wide * m.weighted / m.precision}
	}
	return m.plus(near)
}

// learn sums up all trials that run, ended lately, or led to a promotion.
func (e *Engine) learn() {
	if e.rules.Select != SelectBenefit {
		return
	}
	var list []observed
	for _, t := range e.tracks {
		if t.trial == nil || !t.chosen.teaches() {
			continue
		}
		if v := t.trial.evidence; v.Pairs > 0 {
			list = append(list, observed{t.prefix, t.chosen.Network, t.chosen.Class, v.LogRatio, v.Var, v.Pairs})
		}
	}
	for _, c := range e.coolingByPrefix() {
		if c.Class != "" && c.Var > 0 {
			list = append(list, observed{c.Prefix, c.Network, c.Class, c.LogRatio, c.Var + endedVar, triedPairs})
		}
	}
	e.pooled = pool(priorsOf(e.rules), list)
	if e.rules.PoPGroup() > 0 {
		e.pooled.shock = e.turns.shock()
	}
}

// teaches reports whether what a prefix shows says something of others: it is treated, and has a class.
// One that was selected by level has none.
func (s *Selected) teaches() bool { return s.Role == record.ArmNone && s.Class != "" }

// expects returns what is expected of a prefix of a network: of its class when it was chosen, or of its steady
// one now. ok is false if neither is known. Where its own trial knows both outcomes, the worse one counts.
func (e *Engine) expects(t *track, network string) (b belief, ok bool) {
	class, _ := t.steady(e.rules)
	if t.chosen != nil && t.chosen.Class != "" {
		class = t.chosen.Class
	}
	if class == "" {
		return b, false
	}
	b = e.pooled.believe(t.prefix, network, class)
	lost := e.turns.taken()
	if b.lost = lost; t.trial == nil {
		return b, true
	}
	rate, goodput := e.having(t, b, t.trial.evidence), e.having(t, b, t.trial.goodput)
	if b = rate; t.trial.goodput.Pairs > 0 && goodput.gain < rate.gain {
		b = goodput
		b.goodput = true
	}
	b.resent, b.lost = resent(b.resent, t.trial.pairs), lost
	return b, true
}

// having is the belief of a prefix by the evidence of its own trial on one of the outcomes. The other
// prefixes tell of the rate alone.
func (e *Engine) having(t *track, b belief, v effect.Evidence) belief {
	if v.Pairs == 0 {
		return b
	}
	return e.pooled.given(t.prefix, t.chosen.Network, b.class, observed{t.prefix, t.chosen.Network, b.class, v.LogRatio, v.Var, v.Pairs})
}

// resent is what the treatment retransmits in addition: the lab's share and that of a prefix's own pairs.
func resent(lab float64, pairs []effect.Pair) float64 {
	sum, n := resentWeight*lab, float64(resentWeight)
	for _, p := range pairs {
		t, c := p.RetransShares()
		sum, n = sum+t-c, n+1
	}
	return sum / n
}
