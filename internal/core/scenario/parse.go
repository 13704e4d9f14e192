package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
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

// maxText: a scenario is written by hand; 1 MiB is 20,000 lines.
const maxText = 1 << 20

// reader walks the document and collects faults.
type reader struct{ faults Faults }

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

func (r *reader) fault(n *yaml.Node, field, value, problem string) {
	r.faults.add(Fault{Line: n.Line, Field: field, Value: value, Problem: problem})
}

func (r *reader) unknown(k *yaml.Node, field string, known []string) {
	r.fault(k, field, "", "unknown key; known here: "+strings.Join(known, ", "))
}

// each calls fn for every key of a mapping, in the file's order.
func (r *reader) each(n *yaml.Node, field string, fn func(name string, k, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, field, n.Value, "not a section; write `key: value` lines below it")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch first := seen[k.Value]; {
		case k.Kind != yaml.ScalarNode:
			r.fault(k, field, "", "a key that is not a word; write `key: value` lines")
		case first > 0:
			r.fault(k, field, k.Value, fmt.Sprintf("set twice, first in line %d; keep one", first))
		default:
			seen[k.Value] = k.Line
			fn(k.Value, k, v)
		}
	}
}

// scalar is the text of a single value.
func (r *reader) scalar(n *yaml.Node, field string) (string, bool) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.fault(n, field, "", "anchors and aliases are not read; write the value out")
	case n.Kind != yaml.ScalarNode:
		r.fault(n, field, "", "not a single value; write one value")
	case n.Tag == "!!null" || n.Value == "":
		r.fault(n, field, "", "no value; give one or remove the line")
	default:
		return n.Value, true
	}
	return "", false
}

// list gives the items of a sequence.
func (r *reader) list(n *yaml.Node, field string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.fault(n, field, n.Value, "not a list; write [a, b] or one line each after a dash")
		return nil
	}
	return n.Content
}

func (r *reader) text(n *yaml.Node, field string, into *string) {
	if s, ok := r.scalar(n, field); ok {
		*into = strings.TrimSpace(s)
	}
}

func (r *reader) word(n *yaml.Node, field string, into *string) {
	s, ok := r.scalar(n, field)
	if !ok {
		return
	}
	w, err := parseWord(s)
	if err != nil {
		r.fault(n, field, s, err.Error())
	}
	*into = w
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

// document gives the one top-level mapping of b, nil with a fault otherwise.
func (r *reader) document(b []byte) *yaml.Node {
	if len(b) > maxText {
		r.faults.add(Fault{Problem: fmt.Sprintf("%d bytes; at most %d", len(b), maxText)})
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		r.faults.add(Fault{Problem: "empty; see docs/format/scenario.md"})
		return nil
	} else if err != nil {
		r.faults.add(syntaxFault(err))
		return nil
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		r.fault(&more, "", "", "a second document; keep one")
		return nil
	}
	if root := doc.Content[0]; root.Kind == yaml.MappingNode {
		return root
	}
	r.fault(doc.Content[0], "", "", "not a scenario; write `key: value` lines")
	return nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

func syntaxFault(err error) Fault {
	f := Fault{Problem: err.Error()}
	if m := yamlLine.FindStringSubmatch(f.Problem); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		f.Problem = m[2]
	}
	f.Problem += "; not YAML: look for a tab, a missing colon or a quote"
	return f
}
