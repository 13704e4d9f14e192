package scenario

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/congctl/congctl/internal/strict"
)

// defaultQdisc paces BBR and is what its authors advise.
const defaultQdisc = "fq"

// arms reads [cubic, pfifo_fast+cubic, {name: a, qdisc: fq, cong: bbr}].
func (r *reader) arms(f *file, n *strict.Node) {
	for _, item := range r.List(n, "arms") {
		a := r.arm(item)
		if a == (Arm{}) {
			continue
		}
		if slices.ContainsFunc(f.Arms, func(b Arm) bool { return a.Name == b.Name }) {
			r.Fault(item, "arms", a.Name, "twice; keep one")
			continue
		}
		f.Arms = append(f.Arms, a)
	}
}

func (r *reader) arm(n *strict.Node) Arm {
	if n.Kind == yaml.MappingNode {
		return r.longArm(n)
	}
	s, ok := r.Scalar(n, "arms")
	if !ok {
		return Arm{}
	}
	if _, err := ReadWord(s); err != nil {
		r.Fault(n, "arms", s, err.Error())
		return Arm{}
	}
	qdisc, cong, both := strings.Cut(s, "+")
	if !both {
		qdisc, cong = defaultQdisc, s
	}
	return Arm{Name: s, Qdisc: qdisc, Cong: cong}
}

func (r *reader) longArm(n *strict.Node) Arm {
	a := Arm{Qdisc: defaultQdisc}
	keys := []strict.Key[Arm]{
		strict.Put("name", ReadWord, func(a *Arm) *string { return &a.Name }),
		strict.Put("qdisc", ReadWord, func(a *Arm) *string { return &a.Qdisc }),
		strict.Put("cong", ReadWord, func(a *Arm) *string { return &a.Cong }),
	}
	strict.Fill(&r.Reader, &a, keys, "arms", n)
	if a.Cong == "" {
		r.Fault(n, "arms.cong", "", "missing; write a congestion control, as in bbr")
	}
	if a.Name == "" {
		a.Name = a.Qdisc + "+" + a.Cong
	}
	return a
}

// crossed adds to arms the missing combinations of qdisc and congestion control, which
// takes apart a published pair that changed both at once.
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
