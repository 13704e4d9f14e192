package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// axis is one dimension of the matrix: values of one key, or named points that each
// override several.
type axis struct {
	name   string
	points []point
}

type point struct {
	name string
	node *yaml.Node // a scalar, or a mapping of sections
}

// where overrides the cells at some values of some axes, whatever their arm.
type where struct {
	match map[string][]string // axis -> values
	node  *yaml.Node
}

func (r *reader) matrix(f *file, n *yaml.Node) {
	r.each(n, "matrix", func(name string, k, v *yaml.Node) {
		field := "matrix." + name
		a := axis{name: name}
		switch {
		case !word.MatchString(name):
			r.fault(k, field, "", "not a name; write letters, digits and + - _ . only")
			return
		case v.Kind == yaml.MappingNode && isKey(name):
			r.fault(v, field, "", "is a key of its own; list its values, or name the points after something else")
			return
		case v.Kind == yaml.MappingNode:
			r.each(v, field, func(p string, k, v *yaml.Node) {
				if !word.MatchString(p) {
					r.fault(k, field, p, "not a name; write letters, digits and + - _ . % only")
				}
				a.points = append(a.points, point{p, v})
			})
		default:
			a.points = r.values(v, field)
		}
		if len(a.points) == 0 {
			r.fault(v, field, "", "no values; give some or remove the axis")
		}
		f.axes = append(f.axes, a)
	})
}

func (r *reader) values(n *yaml.Node, field string) (out []point) {
	for _, item := range r.list(n, field) {
		s, ok := r.scalar(item, field)
		if !ok {
			continue
		}
		if slices.ContainsFunc(out, func(p point) bool { return p.name == s }) {
			r.fault(item, field, s, "twice; keep one")
			continue
		}
		out = append(out, point{s, item})
	}
	return out
}

// isKey tells whether name is a scalar key that an axis can vary.
func isKey(name string) bool {
	_, path := lookup(pathKeys, name)
	_, sender := lookup(senderKeys, name)
	_, flow := lookup(flowKeys, name)
	return path || sender || flow
}

func (r *reader) wheres(f *file, n *yaml.Node) {
	for _, item := range r.list(n, "where") {
		w := where{match: map[string][]string{}, node: item}
		r.each(item, "where", func(key string, k, v *yaml.Node) {
			if key == "match" {
				r.each(v, "where.match", func(axis string, _, v *yaml.Node) { w.match[axis] = r.matchValues(v, axis) })
			}
		})
		if len(w.match) == 0 {
			r.fault(item, "where.match", "", "missing; name the axes and values that it is for, as in {loss: 16%}")
		}
		f.wheres = append(f.wheres, w)
	}
}

// matchValues takes one value or a list.
func (r *reader) matchValues(n *yaml.Node, axis string) (out []string) {
	if n.Kind == yaml.SequenceNode {
		for _, p := range r.values(n, "where.match."+axis) {
			out = append(out, p.name)
		}
		return out
	}
	s, _ := r.scalar(n, "where.match."+axis)
	return []string{s}
}

// checkWheres refuses a where that can match nothing.
func (r *reader) checkWheres(f *file) {
	for _, w := range f.wheres {
		for _, name := range slices.Sorted(maps.Keys(w.match)) {
			i := slices.IndexFunc(f.axes, func(a axis) bool { return a.name == name })
			if i < 0 {
				r.fault(w.node, "where.match."+name, "", "no such axis in the matrix")
				continue
			}
			for _, v := range w.match[name] {
				if !slices.ContainsFunc(f.axes[i].points, func(p point) bool { return p.name == v }) {
					r.fault(w.node, "where.match."+name, v, "not a value of this axis; write it as the matrix does")
				}
			}
		}
	}
}

// apply puts one point onto d.
func (r *reader) apply(d *draft, a axis, p point) {
	d.turn = a.name
	defer func() { d.turn = "" }()
	if p.node.Kind == yaml.MappingNode {
		r.each(p.node, "matrix."+a.name+"."+p.name, func(key string, k, v *yaml.Node) { r.section(d, key, k, v, overridable) })
		return
	}
	if s, ok := lookup(pathKeys, a.name); ok {
		assign(r, d, d, s, "path."+a.name, p.node)
	} else if s, ok := lookup(senderKeys, a.name); ok {
		assign(r, d, d, s, "sender."+a.name, p.node)
	} else if strings.HasPrefix(a.name, "net.") {
		r.sysctl(d, a.name, p.node)
	} else {
		r.flowAxis(d, a.name, p.node)
	}
}

// overridable are the sections that a point or a where may hold.
var overridable = []string{"path", "sender", "flows", "sysctls", "schedule", "seeds", "measure"}

// flowAxis sets a key of every flow ("size") or of one ("rival.cong").
func (r *reader) flowAxis(d *draft, name string, v *yaml.Node) {
	flow, key, one := strings.Cut(name, ".")
	if !one {
		flow, key = "", name
	}
	s, ok := lookup(flowKeys, key)
	switch {
	case !ok || key == "name":
		r.fault(v, "matrix."+name, "", "not a key that can vary; known: "+strings.Join(axisNames(), ", ")+
			", FLOW.KEY, a sysctl (net...), or any name with named points below it")
		return
	case key == "cong" && !one:
		r.fault(v, "matrix.cong", "", "the arms say who uses which; list it in arms, or vary FLOW.cong of one flow")
		return
	}
	found := false
	for i := range d.flows {
		if f := &d.flows[i]; !one || f.Name == flow {
			assign(r, d, f, s, fmt.Sprintf("flows.%s.%s", f.Name, key), v)
			found = true
		}
	}
	if !found {
		r.fault(v, "matrix."+name, "", fmt.Sprintf("no flow is named %s", flow))
	}
}

func axisNames() []string {
	return slices.Concat(names(pathKeys), names(senderKeys), names(flowKeys)[2:])
}
