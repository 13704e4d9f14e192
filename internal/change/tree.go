package change

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Node is one qdisc of a link. Parent is 0xffffffff for the link itself.
type Node struct {
	Kind           string
	Handle, Parent uint32
	Options        []byte // TCA_OPTIONS as the kernel reports or takes them
	// Default: options chosen by the kernel, whatever they are.
	Default bool
	Stab    []byte // TCA_STAB, its size table, nil for none
}

// RootParent is the parent of a link's own qdisc (TC_H_ROOT).
const RootParent = uint32(0xffffffff)

// OwnHandle is the major number of the qdiscs that congctl puts on a link's root, and marks
// them as ours. tc counts from 8000 up.
const OwnHandle = uint32(0xcc00)

// LimitHandle is the major number of the token bucket of congctl shape.
const LimitHandle = uint32(0xc0c7)

// Tree writes qdiscs as the value of a link, in the given order: KIND PARENT HANDLE OPTIONS
// for each, with "; " between. Parent and handle are hex; options are hex, "-" for none or
// "*" for the kernel's choice. A size table is a fifth word, in hex.
func Tree(nodes []Node) Value {
	var parts []string
	for _, n := range nodes {
		options := "*"
		switch {
		case n.Default:
		case len(n.Options) == 0:
			options = "-"
		default:
			options = hex.EncodeToString(n.Options)
		}
		part := fmt.Sprintf("%s %x %x %s", n.Kind, n.Parent, n.Handle, options)
		if len(n.Stab) > 0 {
			part += " " + hex.EncodeToString(n.Stab)
		}
		parts = append(parts, part)
	}
	return Text(strings.Join(parts, "; "))
}

// ParseTree is the inverse of Tree. It also reads the first form of the kind qdisc: a line
// for each, the handle before the parent.
func ParseTree(text string) (nodes []Node, err error) {
	if text == "" {
		return nil, nil
	}
	all, first := strings.CutSuffix(text, "\n")
	between := "; "
	if first {
		between = "\n"
	}
	for part := range strings.SplitSeq(all, between) {
		n, err := parseNode(strings.Split(part, " "))
		if err != nil {
			return nil, fmt.Errorf("parse qdisc %q: %w", part, err)
		}
		if first {
			n.Handle, n.Parent = n.Parent, n.Handle
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func parseNode(w []string) (n Node, err error) {
	if len(w) < 4 || len(w) > 5 || w[0] == "" {
		return n, fmt.Errorf("%d words, want kind, parent, handle, options and perhaps a size table", len(w))
	}
	parent, err := strconv.ParseUint(w[1], 16, 32)
	if err != nil {
		return n, fmt.Errorf("parent: %w", err)
	}
	handle, err := strconv.ParseUint(w[2], 16, 32)
	if err != nil {
		return n, fmt.Errorf("handle: %w", err)
	}
	n = Node{Kind: w[0], Handle: uint32(handle), Parent: uint32(parent), Default: w[3] == "*"}
	if w[3] != "*" && w[3] != "-" {
		if n.Options, err = hex.DecodeString(w[3]); err != nil {
			return n, fmt.Errorf("options: %w", err)
		}
	}
	if len(w) == 5 {
		if n.Stab, err = hex.DecodeString(w[4]); err != nil || len(n.Stab) == 0 {
			return n, fmt.Errorf("size table %q: not bytes in hex", w[4])
		}
	}
	return n, nil
}

// Ordered sorts qdiscs: each after the one above it, and those side by side by their class.
// The kernel's order depends on its hash.
func Ordered(nodes []Node) []Node {
	return slices.SortedStableFunc(slices.Values(nodes), func(a, b Node) int {
		return cmp.Or(cmp.Compare(depth(nodes, a), depth(nodes, b)), cmp.Compare(a.Parent, b.Parent))
	})
}

// depth returns how many qdiscs are above one.
func depth(nodes []Node, n Node) (above int) {
	for parent := n.Parent; parent != RootParent && above < len(nodes); above++ {
		i := slices.IndexFunc(nodes, func(a Node) bool { return a.Handle>>16 == parent>>16 })
		if i < 0 {
			return above + 1
		}
		parent = nodes[i].Parent
	}
	return above
}

// Named drops what the kernel attaches by itself, which has handle 0: its settings and the
// link's MTU determine kind and options anew each time.
func Named(nodes []Node) []Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return n.Handle == 0 })
}

// unnamed leaves of handles and parents only the classes: the kernel uses 0 for what it
// attaches itself and a free one if none is named.
func unnamed(nodes []Node) []Node {
	nodes = slices.Clone(nodes)
	for i, n := range nodes {
		if nodes[i].Handle = 0; n.Parent != RootParent {
			nodes[i].Parent &= 0xffff
		}
	}
	return nodes
}

// sameTree compares two values by the nodes that part leaves of them; what is no tree, by
// its text.
func sameTree(want, now string, part func([]Node) []Node) bool {
	w, err := ParseTree(want)
	n, err2 := ParseTree(now)
	if err != nil || err2 != nil {
		return want == now
	}
	return slices.EqualFunc(part(w), part(n), func(w, n Node) bool {
		return w.Kind == n.Kind && w.Handle == n.Handle && w.Parent == n.Parent && (w.Default || bytes.Equal(w.Options, n.Options)) && bytes.Equal(w.Stab, n.Stab)
	})
}

// midTree: a tree is replaced root first, and removed by deleting the root, which restores
// the link's default. So between old and new the root has our handle or none.
func midTree(new, now string) bool {
	w, err := ParseTree(new)
	n, err2 := ParseTree(now)
	if err != nil || err2 != nil || len(w) == 0 || len(n) == 0 {
		return false
	}
	return n[0].Handle == 0 || w[0].Handle != 0 && n[0].Handle == w[0].Handle
}

// today returns a value of an older journal in the form and order of today.
func (k Kind) today(v Value) Value {
	nodes, err := ParseTree(v.Text)
	if k != Qdisc && k != Egress || !v.Present || err != nil {
		return v
	}
	v.Text = Tree(Ordered(nodes)).Text
	return v
}
