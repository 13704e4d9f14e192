package scenario

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/congctl/congctl/internal/strict"
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

// stepDraft has what a step changes; the rest stays as it was.
type stepDraft struct {
	atUs    uint64
	rate    *uint64
	rttUs   *uint64
	lossPPM *uint32
}

// maxCellSteps of one schedule: ten a second for an hour and more. A generator stops
// one later, so that the check sees it.
const maxCellSteps = 40_000

// outageBitPerS stands for "nothing": no qdisc knows a rate of zero. A packet of full size
// takes a second and a half.
const outageBitPerS = 8_000

var stepKeys = []strict.Key[stepDraft]{
	strict.Put("at", parseTime, func(s *stepDraft) *uint64 { return &s.atUs }),
	strict.Put("rate", strict.Given(ReadRate), func(s *stepDraft) **uint64 { return &s.rate }),
	strict.Put("rtt", strict.Given(parseTime), func(s *stepDraft) **uint64 { return &s.rttUs }),
	strict.Put("loss", strict.Given(ReadShare), func(s *stepDraft) **uint32 { return &s.lossPPM }),
}

var lteKeys = []strict.Key[lte]{
	strict.Put("attenuation", parseAttenuation, func(l *lte) *attenuation { return &l.level }),
	strict.Put("seed", parseSeed, func(l *lte) *uint64 { return &l.seed }),
	strict.Put("every", parseTime, func(l *lte) *uint64 { return &l.everyUs }),
	strict.Put("median", strict.Given(ReadRate), func(l *lte) **uint64 { return &l.median }),
	strict.Put("outage", strict.Given(ReadShare), func(l *lte) **uint32 { return &l.outage }),
}

var handoverKeys = []strict.Key[handover]{
	strict.Put("every", parseTime, func(h *handover) *uint64 { return &h.everyUs }),
	strict.Put("outage", parseTime, func(h *handover) *uint64 { return &h.outageUs }),
}

// schedule reads a list of steps, or {lte: ...} or {handover: ...}.
func (r *reader) schedule(n *strict.Node) (s schedule) {
	if n.Kind != yaml.MappingNode {
		for _, item := range r.List(n, "schedule") {
			var step stepDraft
			strict.Fill(&r.Reader, &step, stepKeys, "schedule", item)
			s.steps = append(s.steps, step)
		}
		return s
	}
	r.fields(n, "schedule", func(field, key string, k, v *strict.Node) {
		switch key {
		case "lte":
			l := lte{level: attenuations["0dB"], everyUs: 1e6}
			strict.Fill(&r.Reader, &l, lteKeys, field, v)
			if l.everyUs < 1000 {
				r.Fault(v, field+".every", "", "less than a millisecond; write 100ms or more")
			}
			s.make = &l
		case "handover":
			s.make = r.handover(v, field)
		default:
			r.Unknown(k, field, []string{"lte", "handover"})
		}
	})
	if len(n.Content) != 2 {
		r.Fault(n, "schedule", "", "not one generator; write lte or handover, or a list of steps")
	}
	return s
}

func (r *reader) handover(n *strict.Node, field string) *handover {
	h := &handover{everyUs: 10e6, outageUs: 300e3}
	r.fields(n, field, func(field, key string, k, v *strict.Node) {
		switch key {
		case "rates":
			h.rates = listed(r, v, field, ReadRate)
		case "rtts":
			h.rtts = listed(r, v, field, parseTime)
		default:
			strict.Give(&r.Reader, h, handoverKeys, field, key, k, v)
		}
	})
	if h.everyUs <= h.outageUs || h.everyUs < 1000 {
		r.Fault(n, field+".every", "", "not longer than the outage, or less than a millisecond; write more")
	}
	return h
}

// fields is each with the dotted name at hand.
func (r *reader) fields(n *strict.Node, section string, fn func(field, key string, k, v *strict.Node)) {
	r.Each(n, section, func(key string, k, v *strict.Node) { fn(section+"."+key, key, k, v) })
}

func listed[V any](r *reader, n *strict.Node, field string, read func(string) (V, error)) (out []V) {
	for _, item := range r.List(n, field) {
		text, ok := r.Scalar(item, field)
		if !ok {
			continue
		}
		v, err := read(text)
		if err != nil {
			r.Fault(item, field, text, err.Error())
		}
		out = append(out, v)
	}
	return out
}

// resolve returns complete steps.
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

// handover moves between cells of a mobile network: at intervals a short outage, then
// another rate and another round trip. The lists repeat; an empty one keeps the path's own
// value.
type handover struct {
	everyUs, outageUs uint64
	rates, rtts       []uint64
}

func (h *handover) steps(p *Path, spanUs uint64) (out []Step) {
	for k := uint64(0); k*h.everyUs < spanUs && len(out) <= maxCellSteps; k++ {
		now := Step{AtUs: k * h.everyUs, RateBitPerS: cycle(h.rates, k, p.RateBitPerS),
			RTTUs: cycle(h.rtts, k, p.RTTUs), LossPPM: p.Loss.PPM}
		if k > 0 && h.outageUs > 0 {
			gap := now
			gap.RateBitPerS = outageBitPerS
			out = append(out, gap)
			now.AtUs += h.outageUs
		}
		out = append(out, now)
	}
	return out
}

func cycle(list []uint64, k, otherwise uint64) uint64 {
	if len(list) == 0 {
		return otherwise
	}
	return list[k%uint64(len(list))]
}
