package scenario

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// defaultQdisc paces BBR and is what its authors advise.
const defaultQdisc = "fq"

// arms reads [cubic, pfifo_fast+cubic, {name: a, qdisc: fq, cong: bbr}].
func (r *reader) arms(f *file, n *yaml.Node) {
	for _, item := range r.list(n, "arms") {
		a := r.arm(item)
		if a == (Arm{}) {
			continue
		}
		if slices.ContainsFunc(f.Arms, func(b Arm) bool { return a.Name == b.Name }) {
			r.fault(item, "arms", a.Name, "twice; keep one")
			continue
		}
		f.Arms = append(f.Arms, a)
	}
}

func (r *reader) arm(n *yaml.Node) Arm {
	if n.Kind == yaml.MappingNode {
		return r.longArm(n)
	}
	s, ok := r.scalar(n, "arms")
	if !ok {
		return Arm{}
	}
	if _, err := parseWord(s); err != nil {
		r.fault(n, "arms", s, err.Error())
		return Arm{}
	}
	qdisc, cong, both := strings.Cut(s, "+")
	if !both {
		qdisc, cong = defaultQdisc, s
	}
	return Arm{Name: s, Qdisc: qdisc, Cong: cong}
}

func (r *reader) longArm(n *yaml.Node) Arm {
	a := Arm{Qdisc: defaultQdisc}
	keys := []setting[Arm]{
		put("name", parseWord, func(a *Arm) *string { return &a.Name }),
		put("qdisc", parseWord, func(a *Arm) *string { return &a.Qdisc }),
		put("cong", parseWord, func(a *Arm) *string { return &a.Cong }),
	}
	r.each(n, "arms", func(key string, k, v *yaml.Node) {
		s, known := lookup(keys, key)
		if !known {
			r.unknown(k, "arms."+key, names(keys))
		} else if text, ok := r.scalar(v, "arms."+key); ok {
			if err := s.set(&a, text); err != nil {
				r.fault(v, "arms."+key, text, err.Error())
			}
		}
	})
	if a.Cong == "" {
		r.fault(n, "arms.cong", "", "missing; write a congestion control, as in bbr")
	}
	if a.Name == "" {
		a.Name = a.Qdisc + "+" + a.Cong
	}
	return a
}

func (r *reader) full(f *file, n *yaml.Node) {
	s, ok := r.scalar(n, "full")
	if !ok {
		return
	}
	on, err := parseSwitch(s)
	if err != nil {
		r.fault(n, "full", s, err.Error())
	}
	f.full = on
}

// crossed adds to arms what is missing of every qdisc with every congestion control.
// A published pair that changed both at once is taken apart that way.
func crossed(arms []Arm) []Arm {
	all := slices.Clone(arms)
	for _, q := range arms {
		for _, c := range arms {
			both := func(a Arm) bool { return a.Qdisc == q.Qdisc && a.Cong == c.Cong }
			if !slices.ContainsFunc(all, both) {
				all = append(all, Arm{Name: q.Qdisc + "+" + c.Cong, Qdisc: q.Qdisc, Cong: c.Cong})
			}
		}
	}
	return all
}
