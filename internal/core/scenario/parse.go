package scenario

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse reads, expands and checks one YAML document. The error names every fault with
// its line; name is the file's, for the error alone.
func Parse(name string, text []byte) (*Scenario, error) {
	r := &reader{}
	s := r.scenario(text)
	if err := r.faults.or(); err != nil {
		return nil, fmt.Errorf("read scenario %s:\n%w", name, err)
	}
	return s, nil
}

func (r *reader) scenario(text []byte) *Scenario {
	f := &file{base: newDraft()}
	root := r.document(text)
	if root == nil {
		return nil
	}
	r.each(root, "", func(key string, k, v *yaml.Node) { r.top(f, key, k, v) })
	r.required(f, root)
	if len(r.faults) > 0 {
		return nil
	}
	return r.expand(f)
}

// file is a document that was read and not yet expanded.
type file struct {
	Scenario
	full   bool
	base   draft
	axes   []axis
	wheres []where
	steps  int    // of all cells' schedules
	wrong  Faults // of cells
}

func newDraft() draft {
	return draft{
		cell: Cell{
			Seeds:  Seeds{First: 1, Count: 1},
			Sender: Sender{Pacing: PacingAuto},
			Path:   Path{MTU: 1500, Bottleneck: "netem"},
		},
		line: map[string]int{}, owner: map[string]string{},
	}
}

// topKeys in the order in which a file is best read.
var topKeys = []string{"name", "about", "notes", "published", "arms", "full", "matrix", "where", "path", "sender",
	"flows", "sysctls", "schedule", "seeds", "measure", "exempt"}

func (r *reader) top(f *file, key string, k, v *yaml.Node) {
	switch key {
	case "name":
		r.word(v, key, &f.Name)
	case "about":
		r.text(v, key, &f.About)
	case "notes":
		r.text(v, key, &f.Notes)
	case "published":
		r.word(v, key, &f.Published)
	case "arms":
		r.arms(f, v)
	case "full":
		r.full(f, v)
	case "matrix":
		r.matrix(f, v)
	case "where":
		r.wheres(f, v)
	case "exempt":
		r.exempt(f, v)
	default:
		r.section(&f.base, key, k, v, topKeys)
	}
}

func (r *reader) required(f *file, root *yaml.Node) {
	missing := func(field, fix string) {
		r.fault(root, field, "", "missing; "+fix)
	}
	if f.Name == "" {
		missing("name", "write the file's name without .yml")
	}
	if f.About == "" || strings.Contains(f.About, "\n") {
		missing("about", "write one line on what is compared")
	}
	if len(f.Arms) == 0 {
		missing("arms", "write what is compared, as in [cubic, bbr]")
	}
	if len(f.base.flows) == 0 {
		missing("flows", "write at least one, as in - {size: 64MB}")
	}
}

// section reads one part of a cell, of the file itself or of an override.
func (r *reader) section(d *draft, key string, k, v *yaml.Node, known []string) {
	switch {
	case sections[key] != nil:
		r.each(v, key, func(name string, k, v *yaml.Node) {
			if s, ok := lookup(sections[key], name); ok {
				assign(r, d, d, s, key+"."+name, v)
			} else {
				r.unknown(k, key+"."+name, names(sections[key]))
			}
		})
	case key == "flows":
		r.flows(d, v)
	case key == "sysctls":
		r.each(v, key, func(name string, _, v *yaml.Node) { r.sysctl(d, name, v) })
	case key == "schedule":
		r.touch(d, key, v)
		d.schedule = r.schedule(v)
	default:
		r.unknown(k, key, known)
	}
}

// assign sets one key of t, which is d or one of its flows.
func assign[T any](r *reader, d *draft, t *T, s setting[T], field string, v *yaml.Node) {
	text, ok := r.scalar(v, field)
	if !ok {
		return
	}
	r.touch(d, field, v)
	if err := s.set(t, text); err != nil {
		r.fault(v, field, text, err.Error())
	}
}

func (r *reader) touch(d *draft, field string, v *yaml.Node) {
	if err := d.touch(field, v.Line); err != nil {
		r.fault(v, field, v.Value, err.Error())
	}
}

func (r *reader) exempt(f *file, n *yaml.Node) {
	f.Exempt = map[string]string{}
	r.each(n, "exempt", func(gate string, k, v *yaml.Node) {
		field := "exempt." + gate
		reason, ok := r.scalar(v, field)
		if !slices.Contains(Gates, gate) {
			r.fault(k, field, "", "no such gate; known: "+strings.Join(Gates, ", "))
		} else if ok {
			f.Exempt[gate] = reason
		}
	})
}
