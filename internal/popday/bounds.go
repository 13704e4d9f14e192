package popday

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The measures by which rules of selection are compared with each other.

func ofValue(v *float64, note string) *figure {
	if v == nil {
		return nil
	}
	return &figure{value: *v, note: note}
}

// row returns the loop's row of a class; nil without one.
func (j *judging) row(class string) *ClassRow {
	i := slices.IndexFunc(j.Classes, func(r ClassRow) bool { return r.Policy == j.loop.Policy && r.Class == class })
	if i < 0 {
		return nil
	}
	return &j.Classes[i]
}

// gainHours tells the hours at windows of five minutes, as the policy's other durations are told.
func (j *judging) gainHours(string) *figure {
	if j.loop.Late.P10.Ratio == nil {
		return nil
	}
	at := j.loop.GainAfterS
	if at == nil {
		return &figure{value: math.NaN(), note: "never, or no gain"}
	}
	return &figure{value: float64(*at) / 3600 * defaultWindowS / float64(j.Experiment.WindowS), note: Clock(*at) + " of the day"}
}

func (j *judging) guarded(class string) *figure {
	return j.networks(class, func(s *Story) (list []int) {
		for _, n := range s.Treated {
			if j.kindOfClass(j.Networks[n].Class) == kindGuarded {
				list = append(list, n)
			}
		}
		return list
	})
}

func (j *judging) harmedLong(string) *figure {
	if j.Comparison.Reference == "" {
		return nil
	}
	var found []string
	for _, h := range j.LongHarms {
		if h.Policy == j.loop.Policy {
			found = append(found, fmt.Sprintf("%s %d of seed %d, x %.2f in %s", h.Class, h.Network, h.Seed, h.Ratio.Value, Clock(h.TreatedS)))
		}
	}
	f := &figure{value: float64(len(found)), note: strings.Join(found, ", ")}
	if f.note == "" && j.full != nil {
		f.note = fmt.Sprintf("%d harmed with everything treated", j.full.Harmed)
	}
	return f
}

func (j *judging) neighbourLoss(string) *figure {
	if j.loop.NeighbourLoss == nil {
		return nil
	}
	return ofValue(j.loop.NeighbourLoss, fmt.Sprintf("their goodput x %.2f, with everything treated x %.2f", j.loop.Neighbours.Value, j.full.Neighbours.Value))
}

func (j *judging) extraResent(class string) *figure {
	if class == "" {
		return ofValue(j.loop.Cost.Extra, "")
	}
	if r := j.row(class); r != nil {
		return ofValue(r.Extra, "")
	}
	return nil
}

func (j *judging) resentRatio(class string) *figure {
	if r := j.row(class); r != nil {
		return ofValue(r.RetransRatio, "")
	}
	if class == "" && j.loop.Cost.RetransRatio > 0 {
		return &figure{value: j.loop.Cost.RetransRatio}
	}
	return nil
}

// kept is of one class, or of that which kept least.
func (j *judging) kept(class string) *figure {
	return j.leastOf(class, func(r *ClassRow) *figure { return ofInterval(r.Kept) })
}

func (j *judging) keptWorst(class string) *figure {
	return j.leastOf(class, func(r *ClassRow) *figure { return ofValue(r.KeptWorst, "") })
}

func (j *judging) leastOf(class string, of func(*ClassRow) *figure) (least *figure) {
	for i := range j.Classes {
		r := &j.Classes[i]
		if r.Policy != j.loop.Policy || class != "" && r.Class != class {
			continue
		}
		if f := of(r); f != nil && (least == nil || f.value < least.value) {
			least = f
			least.note = r.Class
		}
	}
	return least
}

func (j *judging) signature(of func(*Signature) *float64) *figure {
	i := slices.IndexFunc(j.Signatures, func(s Signature) bool { return s.By == j.loop.Policy })
	if i < 0 {
		return nil
	}
	s := &j.Signatures[i]
	note := fmt.Sprintf("%d gain, %d tried, %d of them gain", s.Gaining, s.Tried, s.Hits)
	if f := ofValue(of(s), note); f != nil {
		return f
	}
	return &figure{value: math.NaN(), note: note}
}
