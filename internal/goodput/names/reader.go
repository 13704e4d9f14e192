package names

import (
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/congctl/congctl/internal/strict"
)

// reader walks one document and collects faults.
type reader struct{ faults strict.Faults }

func (r *reader) fault(n *yaml.Node, field, problem, fix string) {
	r.faults = append(r.faults, strict.Fault{Field: field, Line: n.Line, Value: n.Value, Problem: problem, Fix: fix})
}

// entries calls fn with each key of the file's one mapping, in order.
func (r *reader) entries(text []byte, what string, fn func(name string, key, value *yaml.Node)) {
	root, err := strict.Document(text)
	switch f, is := err.(strict.Fault); {
	case is:
		r.faults = append(r.faults, f)
		return
	case err != nil:
		r.faults.Add("", "", "not YAML: "+err.Error(), "")
		return
	case strict.Empty(root):
		return
	}
	r.mapping(root, what, func(name string, key, value *yaml.Node) {
		if !namePattern.MatchString(name) {
			r.fault(key, what, "not a name", "use letters, digits and . _ - &, at most 64")
			return
		}
		fn(name, key, value)
	})
}

// namePattern: names appear in tables, file rows and JSON; "-" alone means none there.
var namePattern = regexp.MustCompile(`^[\pL\pN]([\pL\pN ._&-]{0,62}[\pL\pN._])?$`)

func (r *reader) mapping(n *yaml.Node, field string, fn func(name string, key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, field, "not a section", "write a name, a colon, and its values")
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if line := first[key.Value]; line > 0 {
			r.fault(key, field, fmt.Sprintf("given twice, first in line %d", line), "keep one")
			continue
		}
		first[key.Value] = key.Line
		fn(key.Value, key, n.Content[i+1])
	}
}

// list calls fn with each scalar of a list; a single scalar is a list of one.
func (r *reader) list(n *yaml.Node, field string, fn func(item *yaml.Node)) {
	items := n.Content
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		items = []*yaml.Node{n}
	case n.Kind != yaml.SequenceNode:
		r.fault(n, field, "not a list", "write [a, b]")
		return
	case len(items) == 0:
		r.fault(n, field, "empty", "leave it out")
	}
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || item.Anchor != "" {
			r.fault(item, field, "not a single value", "write it out")
			continue
		}
		fn(item)
	}
}

// maxFile: every /24 of IPv4 separately would be 400 MB; to name all operators, use a
// database of ASNs. 16 MB are half a million prefixes.
const maxFile = 16 << 20
