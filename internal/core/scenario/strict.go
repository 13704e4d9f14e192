package scenario

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// The strict reading of this format, for other formats of the lab: faults with their
// lines, quantities that nobody can misread.

// Node is a value of the document.
type Node = yaml.Node

// Reader reads one document and collects its faults.
type Reader struct{ r reader }

// Document gives the top-level mapping, nil with a fault where there is none.
func (r *Reader) Document(b []byte) *Node { return r.r.document(b) }

// Each calls fn for every key of a mapping, in the file's order.
func (r *Reader) Each(n *Node, field string, fn func(name string, k, v *Node)) {
	r.r.each(n, field, fn)
}

// Scalar is the text of a single value.
func (r *Reader) Scalar(n *Node, field string) (string, bool) { return r.r.scalar(n, field) }

// List gives the items of a sequence.
func (r *Reader) List(n *Node, field string) []*Node { return r.r.list(n, field) }

// Fault notes what is wrong; after a semicolon, what to write instead.
func (r *Reader) Fault(n *Node, field, value, problem string) { r.r.fault(n, field, value, problem) }

// Unknown notes a key that is none of the known ones.
func (r *Reader) Unknown(k *Node, field string, known []string) { r.r.unknown(k, field, known) }

// Err is nil, or all faults of the file of that name.
func (r *Reader) Err(name string) error {
	if err := r.r.faults.or(); err != nil {
		return fmt.Errorf("read scenario %s:\n%w", name, err)
	}
	return nil
}

// Key is one scalar key of a section T.
type Key[T any] struct{ setting setting[T] }

// Put is the key that read understands and that is kept where at says.
func Put[T, V any](name string, read func(string) (V, error), at func(*T) *V) Key[T] {
	return Key[T]{put(name, read, at)}
}

// Give sets one key of t. Names gives those that there are.
func Give[T any](r *Reader, t *T, keys []Key[T], field, name string, k, v *Node) {
	give(&r.r, t, settings(keys), field, name, k, v)
}

// Names of keys.
func Names[T any](keys []Key[T]) []string { return names(settings(keys)) }

func settings[T any](keys []Key[T]) (out []setting[T]) {
	for _, k := range keys {
		out = append(out, k.setting)
	}
	return out
}

// Quantities: a rate in bit/s, a size in bytes, a share in millionths, a count, a name,
// text in one line.
var (
	ReadRate   = parseRate
	ReadSize   = parseSize
	ReadShare  = parseShare
	ReadCount  = parseCount
	ReadSwitch = parseSwitch
	ReadWord   = parseWord
)
