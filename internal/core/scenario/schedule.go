package scenario

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// schedule is how the path changes: steps written out, or a generator that makes them
// from the path and the time that the flows take.
type schedule struct {
	steps []stepDraft
	make  generator
}

type generator interface {
	steps(p *Path, spanUs uint64) []Step
}

// stepDraft has what a step changes; what it leaves out stays as it was.
type stepDraft struct {
	atUs    uint64
	rate    *uint64
	rttUs   *uint64
	lossPPM *uint32
}

// maxCellSteps of one schedule: ten a second for an hour and more. A generator stops
// one later, so that the check sees it.
const maxCellSteps = 40_000

// outageBitPerS stands for "nothing": no qdisc knows a rate of zero. A packet of full
// size takes a second and a half.
const outageBitPerS = 8_000

var stepKeys = []setting[stepDraft]{
	put("at", parseTime, func(s *stepDraft) *uint64 { return &s.atUs }),
	put("rate", given(parseRate), func(s *stepDraft) **uint64 { return &s.rate }),
	put("rtt", given(parseTime), func(s *stepDraft) **uint64 { return &s.rttUs }),
	put("loss", given(parseShare), func(s *stepDraft) **uint32 { return &s.lossPPM }),
}

var lteKeys = []setting[lte]{
	put("attenuation", parseAttenuation, func(l *lte) *attenuation { return &l.level }),
	put("seed", parseSeed, func(l *lte) *uint64 { return &l.seed }),
	put("every", parseTime, func(l *lte) *uint64 { return &l.everyUs }),
	put("median", given(parseRate), func(l *lte) **uint64 { return &l.median }),
	put("outage", given(parseShare), func(l *lte) **uint32 { return &l.outage }),
}

var handoverKeys = []setting[handover]{
	put("every", parseTime, func(h *handover) *uint64 { return &h.everyUs }),
	put("outage", parseTime, func(h *handover) *uint64 { return &h.outageUs }),
}

// given keeps apart what was written from a zero.
func given[V any](read func(string) (V, error)) func(string) (*V, error) {
	return func(s string) (*V, error) {
		v, err := read(s)
		return &v, err
	}
}

// schedule reads a list of steps, or {lte: ...} or {handover: ...}.
func (r *reader) schedule(n *yaml.Node) (s schedule) {
	if n.Kind != yaml.MappingNode {
		for _, item := range r.list(n, "schedule") {
			var step stepDraft
			r.fields(item, "schedule", func(field, key string, k, v *yaml.Node) {
				give(r, &step, stepKeys, field, key, k, v)
			})
			s.steps = append(s.steps, step)
		}
		return s
	}
	r.fields(n, "schedule", func(field, key string, k, v *yaml.Node) {
		switch key {
		case "lte":
			l := lte{level: attenuations["0dB"], everyUs: 1e6}
			r.fields(v, field, func(field, key string, k, v *yaml.Node) { give(r, &l, lteKeys, field, key, k, v) })
			if l.everyUs < 1000 {
				r.fault(v, field+".every", "", "less than a millisecond; write 100ms or more")
			}
			s.make = &l
		case "handover":
			s.make = r.handover(v, field)
		default:
			r.unknown(k, field, []string{"lte", "handover"})
		}
	})
	if len(n.Content) != 2 {
		r.fault(n, "schedule", "", "not one generator; write lte or handover, or a list of steps")
	}
	return s
}

func (r *reader) handover(n *yaml.Node, field string) *handover {
	h := &handover{everyUs: 10e6, outageUs: 300e3}
	r.fields(n, field, func(field, key string, k, v *yaml.Node) {
		switch key {
		case "rates":
			h.rates = listed(r, v, field, parseRate)
		case "rtts":
			h.rtts = listed(r, v, field, parseTime)
		default:
			give(r, h, handoverKeys, field, key, k, v)
		}
	})
	if h.everyUs <= h.outageUs || h.everyUs < 1000 {
		r.fault(n, field+".every", "", "not longer than the outage, or less than a millisecond; write more")
	}
	return h
}

// fields is each with the dotted name at hand.
func (r *reader) fields(n *yaml.Node, section string, fn func(field, key string, k, v *yaml.Node)) {
	r.each(n, section, func(key string, k, v *yaml.Node) { fn(section+"."+key, key, k, v) })
}

// give sets one scalar key of t, which no axis can vary alone.
func give[T any](r *reader, t *T, keys []setting[T], field, key string, k, v *yaml.Node) {
	s, ok := lookup(keys, key)
	if !ok {
		r.unknown(k, field, names(keys))
		return
	}
	text, ok := r.scalar(v, field)
	if !ok {
		return
	}
	if err := s.set(t, text); err != nil {
		r.fault(v, field, text, err.Error())
	}
}

func listed[V any](r *reader, n *yaml.Node, field string, read func(string) (V, error)) (out []V) {
	for _, item := range r.list(n, field) {
		text, ok := r.scalar(item, field)
		if !ok {
			continue
		}
		v, err := read(text)
		if err != nil {
			r.fault(item, field, text, err.Error())
		}
		out = append(out, v)
	}
	return out
}

// resolve gives complete steps.
func (s schedule) resolve(p *Path, spanUs uint64) (out []Step) {
	if s.make != nil {
		return s.make.steps(p, spanUs)
	}
	now := Step{RateBitPerS: p.RateBitPerS, RTTUs: p.RTTUs, LossPPM: p.Loss.PPM}
	for _, step := range s.steps {
		now.AtUs = step.atUs
		set(&now.RateBitPerS, step.rate)
		set(&now.RTTUs, step.rttUs)
		set(&now.LossPPM, step.lossPPM)
		out = append(out, now)
	}
	return slices.Clip(out)
}

func set[V any](to *V, from *V) {
	if from != nil {
		*to = *from
	}
}
