package strict

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Reader walks a document node by node and collects faults.
type Reader struct{ Faults Faults }

// Fault notes what is wrong; after a semicolon, what to write instead.
func (r *Reader) Fault(n *Node, field, value, problem string) {
	r.Faults.AddOnce(Fault{Line: n.Line, Field: field, Value: value, Problem: problem})
}

// Unknown notes an unknown key.
func (r *Reader) Unknown(k *Node, field string, known []string) {
	r.Fault(k, field, "", "unknown key; known here: "+strings.Join(known, ", "))
}

// Each calls fn for every key of a mapping, in the file's order.
func (r *Reader) Each(n *Node, field string, fn func(name string, k, v *Node)) {
	if n.Kind != yaml.MappingNode {
		r.Fault(n, field, "", "not a section; write `key: value` lines below it")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch first := seen[k.Value]; {
		case k.Kind != yaml.ScalarNode:
			r.Fault(k, field, "", "a key that is not a word; write `key: value` lines")
		case first > 0:
			r.Fault(k, field, PlainKey(k, v), fmt.Sprintf("set twice, first in line %d; keep one", first))
		default:
			seen[k.Value] = k.Line
			fn(k.Value, k, v)
		}
	}
}

// Scalar returns the text of a single value.
func (r *Reader) Scalar(n *Node, field string) (string, bool) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.Fault(n, field, "", "anchors and aliases are not supported; write the value out")
	case n.Kind != yaml.ScalarNode:
		r.Fault(n, field, "", "not a single value; write one value")
	case n.Tag == "!!null" || n.Value == "":
		r.Fault(n, field, "", "no value; give one or remove the line")
	default:
		return n.Value, true
	}
	return "", false
}

// List returns the items of a sequence.
func (r *Reader) List(n *Node, field string) []*Node {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.Fault(n, field, n.Value, "not a list; write [a, b] or one line each after a dash")
		return nil
	}
	return n.Content
}

// Key is one scalar key of a section T.
type Key[T any] struct {
	Name string
	Set  func(*T, string) error
}

// Put returns a key that read parses and that is stored where at points.
func Put[T, V any](name string, read func(string) (V, error), at func(*T) *V) Key[T] {
	return Key[T]{name, func(t *T, s string) error {
		v, err := read(s)
		if err == nil {
			*at(t) = v
		}
		return err
	}}
}

// Given makes a reading distinguish a written value from a zero.
func Given[V any](read func(string) (V, error)) func(string) (*V, error) {
	return func(s string) (*V, error) {
		v, err := read(s)
		return &v, err
	}
}

// Find returns the key of a name.
func Find[T any](keys []Key[T], name string) (Key[T], bool) {
	i := slices.IndexFunc(keys, func(k Key[T]) bool { return k.Name == name })
	if i < 0 {
		return Key[T]{}, false
	}
	return keys[i], true
}

// Names returns those of keys.
func Names[T any](keys []Key[T]) (out []string) {
	for _, k := range keys {
		out = append(out, k.Name)
	}
	return out
}

// Give sets one key of t.
func Give[T any](r *Reader, t *T, keys []Key[T], field, name string, k, v *Node) {
	key, ok := Find(keys, name)
	if !ok {
		r.Unknown(k, field, Names(keys))
		return
	}
	text, ok := r.Scalar(v, field)
	if !ok {
		return
	}
	if err := key.Set(t, text); err != nil {
		r.Fault(v, field, text, err.Error())
	}
}

// Fill reads a section that has scalar keys only.
func Fill[T any](r *Reader, t *T, keys []Key[T], field string, n *Node) {
	r.Each(n, field, func(name string, k, v *Node) { Give(r, t, keys, field+"."+name, name, k, v) })
}
