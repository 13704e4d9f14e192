package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/congctl/congctl/internal/strict"
)

// axis is one dimension of the matrix: values of one key, or named points that each
// override several.
type axis struct {
	name   string
	points []point
}

type point struct {
	name string
	node *strict.Node // a scalar, or a mapping of sections
}

// where overrides the cells at some values of some axes, whatever their arm.
type where struct {
	match map[string][]string // axis -> values
	node  *strict.Node
}

func (r *reader) matrix(f *file, n *strict.Node) {
	r.Each(n, "matrix", func(name string, k, v *strict.Node) {
		field := "matrix." + name
		a := axis{name: name}
		switch {
		case !word.MatchString(name):
			r.Fault(k, field, "", "not a name; write letters, digits and + - _ . only")
			return
		case v.Kind == yaml.MappingNode && sectionOf(name) != "":
			r.Fault(v, field, "", "is a key; list its values, or name the points after something else")
			return
		case v.Kind == yaml.MappingNode:
			r.Each(v, field, func(p string, k, v *strict.Node) {
				if !word.MatchString(p) {
					r.Fault(k, field, p, "not a name; write letters, digits and + - _ . % only")
				}
				a.points = append(a.points, point{p, v})
			})
		default:
			a.points = r.values(v, field)
		}
		if len(a.points) == 0 {
			r.Fault(v, field, "", "no values; give some or remove the axis")
		}
		f.axes = append(f.axes, a)
	})
}

func (r *reader) values(n *strict.Node, field string) (out []point) {
	for _, item := range r.List(n, field) {
		s, ok := r.Scalar(item, field)
		if !ok {
			continue
		}
		if slices.ContainsFunc(out, func(p point) bool { return p.name == s }) {
			r.Fault(item, field, s, "twice; keep one")
			continue
		}
		out = append(out, point{s, item})
	}
	return out
}

// sectionOf returns the section whose key of that name an axis can vary, "" for none.
func sectionOf(name string) string {
	for _, section := range []string{"path", "sender"} {
		if _, ok := strict.Find(sections[section], name); ok {
			return section
		}
	}
	if _, ok := strict.Find(flowKeys, name); ok {
		return "flows"
	}
	return ""
}

func (r *reader) wheres(f *file, n *strict.Node) {
	for _, item := range r.List(n, "where") {
		w := where{match: map[string][]string{}, node: item}
		r.Each(item, "where", func(key string, k, v *strict.Node) {
			if key == "match" {
				r.Each(v, "where.match", func(axis string, _, v *strict.Node) { w.match[axis] = r.matchValues(v, axis) })
			}
		})
		if len(w.match) == 0 {
			r.Fault(item, "where.match", "", "missing; name the axes and values that it matches, as in {loss: 16%}")
		}
		f.wheres = append(f.wheres, w)
	}
}

// matchValues takes one value or a list.
func (r *reader) matchValues(n *strict.Node, axis string) (out []string) {
	if n.Kind == yaml.SequenceNode {
		for _, p := range r.values(n, "where.match."+axis) {
			out = append(out, p.name)
		}
		return out
	}
	s, _ := r.Scalar(n, "where.match."+axis)
	return []string{s}
}

// checkWheres refuses a where that can match nothing.
func (r *reader) checkWheres(f *file) {
	for _, w := range f.wheres {
		for _, name := range slices.Sorted(maps.Keys(w.match)) {
			i := slices.IndexFunc(f.axes, func(a axis) bool { return a.name == name })
			if i < 0 {
				r.Fault(w.node, "where.match."+name, "", "no such axis in the matrix")
				continue
			}
			for _, v := range w.match[name] {
				if !slices.ContainsFunc(f.axes[i].points, func(p point) bool { return p.name == v }) {
					r.Fault(w.node, "where.match."+name, v, "not a value of this axis; write it as the matrix does")
				}
			}
		}
	}
}

// apply sets one point in d.
func (r *reader) apply(d *draft, a axis, p point) {
	d.turn = a.name
	defer func() { d.turn = "" }()
	if p.node.Kind == yaml.MappingNode {
		r.Each(p.node, "matrix."+a.name+"."+p.name, func(key string, k, v *strict.Node) { r.section(d, key, k, v, overridable) })
		return
	}
	switch section := sectionOf(a.name); {
	case section != "" && section != "flows":
		assign(r, d, d, sections[section], section+"."+a.name, a.name, p.node, p.node)
	case strings.HasPrefix(a.name, "net."):
		r.sysctl(d, a.name, p.node)
	default:
		r.flowAxis(d, a.name, p.node)
	}
}

// overridable are the sections that a point or a where may hold.
var overridable = []string{"path", "sender", "flows", "sysctls", "schedule", "seeds", "measure"}

// flowAxis sets a key of every flow ("size") or of one ("rival.cong").
func (r *reader) flowAxis(d *draft, name string, v *strict.Node) {
	flow, key, one := strings.Cut(name, ".")
	if !one {
		flow, key = "", name
	}
	switch _, ok := strict.Find(flowKeys, key); {
	case !ok || key == "name":
		r.Fault(v, "matrix."+name, "", "not a key that can vary; known: "+strings.Join(axisNames(), ", ")+
			", FLOW.KEY, a sysctl (net...), or any name with named points below it")
		return
	case key == "cong" && !one:
		r.Fault(v, "matrix.cong", "", "the arms choose the congestion control; list it in arms, or vary FLOW.cong of one flow")
		return
	}
	found := false
	for i := range d.flows {
		if f := &d.flows[i]; !one || f.Name == flow {
			assign(r, d, f, flowKeys, fmt.Sprintf("flows.%s.%s", f.Name, key), key, v, v)
			found = true
		}
	}
	if !found {
		r.Fault(v, "matrix."+name, "", fmt.Sprintf("no flow is named %s", flow))
	}
}

func axisNames() []string {
	ofFlows := slices.DeleteFunc(strict.Names(flowKeys)[2:], func(name string) bool { return sectionOf(name) != "flows" }) // rtt is the path's
	return slices.Concat(strict.Names(pathKeys), strict.Names(senderKeys), ofFlows)
}
