package change

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Node is one qdisc of a link. Parent is 0xffffffff for the link itself.
type Node struct {
	Kind           string
	Handle, Parent uint32
	Options        []byte // TCA_OPTIONS as the kernel told them or takes them
	// Default: options as the kernel chooses them, whatever they are.
	Default bool
}

// RootParent is the parent of a link's own qdisc (TC_H_ROOT).
const RootParent = uint32(0xffffffff)

// OwnHandle is the major number of the qdiscs that congctl puts on a link's root; its
// mark, too: a tree with it was written by nobody else. tc counts from 8000 up.
const OwnHandle = uint32(0xcc00)

// Tree spells qdiscs as the value of a link: a line for each, the root first, in the
// order given: KIND HANDLE PARENT OPTIONS. Handle and parent are hex, options hex,
// "-" for none or "*" for the kernel's choice.
func Tree(nodes []Node) Value {
	var b strings.Builder
	for _, n := range nodes {
		options := "*"
		switch {
		case n.Default:
		case len(n.Options) == 0:
			options = "-"
		default:
			options = hex.EncodeToString(n.Options)
		}
		fmt.Fprintf(&b, "%s %x %x %s\n", n.Kind, n.Handle, n.Parent, options)
	}
	return Text(b.String())
}

// ParseTree is the inverse of Tree.
func ParseTree(text string) (nodes []Node, err error) {
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		n, err := parseNode(strings.Split(line, " "))
		if err != nil {
			return nil, fmt.Errorf("parse qdiscs: line %d: %w", i+1, err)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func parseNode(w []string) (n Node, err error) {
	if len(w) != 4 || w[0] == "" {
		return n, fmt.Errorf("%d words, want kind, handle, parent and options", len(w))
	}
	handle, err := strconv.ParseUint(w[1], 16, 32)
	if err != nil {
		return n, fmt.Errorf("handle: %w", err)
	}
	parent, err := strconv.ParseUint(w[2], 16, 32)
	if err != nil {
		return n, fmt.Errorf("parent: %w", err)
	}
	n = Node{Kind: w[0], Handle: uint32(handle), Parent: uint32(parent), Default: w[3] == "*"}
	if w[3] != "*" && w[3] != "-" {
		if n.Options, err = hex.DecodeString(w[3]); err != nil {
			return n, fmt.Errorf("options: %w", err)
		}
	}
	return n, nil
}

// sameTree compares kinds, options and places. Handles are left out: the kernel
// gives 0 to what it attaches itself and a free one where none is named.
func sameTree(want, now string) bool {
	w, err := ParseTree(want)
	if err != nil {
		return want == now
	}
	n, err := ParseTree(now)
	if err != nil || len(w) != len(n) {
		return false
	}
	for i := range w {
		if w[i].Kind != n[i].Kind || w[i].place() != n[i].place() {
			return false
		}
		if !w[i].Default && string(w[i].Options) != string(n[i].Options) {
			return false
		}
	}
	return true
}

// place is the number of the class that a qdisc hangs in; the root has none.
func (n Node) place() uint32 {
	if n.Parent == RootParent {
		return RootParent
	}
	return n.Parent & 0xffff
}

// midTree: a tree is replaced root first, and taken away by deleting the root, which
// gives the link its default. So between old and new the root has our handle or none.
func midTree(new, now string) bool {
	w, err := ParseTree(new)
	if err != nil {
		return false
	}
	n, err := ParseTree(now)
	if err != nil {
		return false
	}
	return n[0].Handle == 0 || w[0].Handle != 0 && n[0].Handle == w[0].Handle
}
