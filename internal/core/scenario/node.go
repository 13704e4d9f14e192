package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader walks the document node by node and collects faults: yaml's own decoder stops
// at the first one and names no field.
type reader struct{ faults Faults }

// maxText: a scenario is written by hand; 1 MiB is 20,000 lines.
const maxText = 1 << 20

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
