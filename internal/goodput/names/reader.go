package networks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/congctl/congctl/internal/app/config"
)

// reader walks one document and collects faults.
type reader struct{ faults config.Faults }

func (r *reader) fault(n *yaml.Node, field, problem, fix string) {
	r.faults = append(r.faults, config.Fault{Field: field, Line: n.Line, Value: n.Value, Problem: problem, Fix: fix})
}

func (r *reader) err() error {
	if len(r.faults) == 0 {
		return nil
	}
	return r.faults
}

// entries gives each key of the file's one mapping to fn, in its order.
func (r *reader) entries(text []byte, what string, fn func(name string, key, value *yaml.Node)) {
	var doc, second yaml.Node
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	err := d.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF): // empty, or comments alone
		return
	case err != nil:
		r.faults = append(r.faults, config.Fault{Problem: "not YAML: " + err.Error()})
		return
	case d.Decode(&second) == nil:
		r.fault(&second, "", "a second document", "keep one")
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return
	}
	r.mapping(root, what, func(name string, key, value *yaml.Node) {
		if !namePattern.MatchString(name) {
			r.fault(key, what, "not a name", "use letters, digits and . _ - & inside, 64 at most")
			return
		}
		fn(name, key, value)
	})
}

// namePattern: names stand in tables, file rows and JSON; "-" alone means none there.
var namePattern = regexp.MustCompile(`^[\pL\pN]([\pL\pN ._&-]{0,62}[\pL\pN._])?$`)

func (r *reader) mapping(n *yaml.Node, field string, fn func(name string, key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, field, "not a section", "write a name, a colon, and what belongs to it")
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

// list gives each scalar of a list to fn; a single scalar is a list of one.
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

// readFile reads a file of at most maxFile bytes.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("read %s: more than %d bytes", name, maxFile)
	}
	return text, err
}

// maxFile: every /24 of IPv4 by itself would be 400 MB; whoever names all operators
// uses a database of ASNs. 16 MB are half a million prefixes.
const maxFile = 16 << 20
