package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Read reads and parses the file at name.
func Read(name string) (Config, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	c, err := Parse(b)
	if err != nil {
		return Config{}, fmt.Errorf("read configuration %s: %w", name, err)
	}
	return c, nil
}

// Parse reads one YAML document onto the defaults. An unknown key, a wrong type
// or a value out of bounds is a fault; the error is a [Faults] with all of them.
// An empty document is the defaults.
func Parse(b []byte) (Config, error) {
	root, err := document(b)
	if err != nil {
		return Config{}, err
	}
	return parse(root)
}

// parse reads the top-level mapping; nil is an empty one.
func parse(root *yaml.Node) (Config, error) {
	c := Default()
	d := decoder{lines: map[string]int{}, values: map[string]string{}}
	if root != nil {
		d.mapping(root, reflect.ValueOf(&c).Elem(), "")
	}
	c.scale(func(path string) bool { return d.lines[path] > 0 })
	c.derive()
	if faults := c.faults(); len(faults) > 0 {
		d.faults = append(d.faults, d.located(faults)...)
	}
	if err := d.faults.or(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// document gives the one top-level mapping of b; nil when b is empty.
func document(b []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, Faults{syntaxFault(err)}
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, Faults{{Line: more.Line, Problem: "a second document", Fix: "keep one"}}
	}
	root := doc.Content[0]
	switch {
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, Faults{{Line: root.Line, Problem: "not a mapping", Fix: "write `key: value` lines"}}
	}
	return root, nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

func syntaxFault(err error) Fault {
	f := Fault{Problem: err.Error(), Fix: "not YAML: look for a tab, a missing colon or a quote"}
	if m := yamlLine.FindStringSubmatch(strings.Split(err.Error(), "\n")[0]); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		f.Problem = m[2]
	}
	return f
}

// located gives each fault the line of its field, or of the section it is in, and
// drops those of fields that already have a fault from reading.
func (d *decoder) located(faults Faults) (out Faults) {
	for _, f := range faults {
		if d.bad(f.Field) {
			continue
		}
		f.Line = d.lines[f.Field]
		f.Value = cmp.Or(d.values[f.Field], f.Value)
		out = append(out, f)
	}
	return out
}

func (d *decoder) bad(field string) bool {
	for _, f := range d.faults {
		if f.Field == field {
			return true
		}
	}
	return false
}
