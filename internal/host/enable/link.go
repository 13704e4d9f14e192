package enable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/advise"
	"github.com/congctl/congctl/internal/core/change"
)

// ordinary are the qdiscs that kernels and distributions attach without being told to:
// queues without a rate, whose place fq can take without anybody missing a limit.
var ordinary = []string{"pfifo_fast", "fq_codel", "pfifo", "bfifo", "sfq", "codel"}

type verdict int

const (
	replace verdict = iota
	fine            // it has fq, or no queue at all
	custom          // somebody's shaper, or what cannot be put back
)

func (p *planner) links() {
	if !p.fair {
		return
	}
	if !p.f.Links.OK() {
		p.note("interfaces", "are left as they are: "+p.f.Links.Why)
		return
	}
	for _, l := range p.f.Links.Value {
		switch tree, v := fairTree(l); v {
		case replace:
			p.step(change.Qdisc, l.Name, tree, "connections on it, now")
		case custom:
			p.note(l.Name, "has "+kinds(l)+", which somebody chose: it stays (BBR paces inside TCP all the same)")
		}
	}
}

// fairTree is the tree that a link is to have. A multi-queue link keeps its mq and gets
// fq in each leaf: one fq at the root would put all queues behind one lock.
func fairTree(l advise.Link) (tree change.Value, v verdict) {
	root, ok := l.Root()
	if !ok || l.Loopback || !l.Up || l.Kind == "ifb" || root.Kind == "noqueue" || root.Kind == "noop" {
		return tree, fine
	}
	own := change.OwnHandle << 16
	leaves := l.Leaves()
	switch {
	case root.Kind == "mqprio" || root.Kind == "mq" && len(leaves) == 0:
		return tree, custom
	case slices.ContainsFunc(leaves, func(q advise.Qdisc) bool { return q.Kind != "fq" && !slices.Contains(ordinary, q.Kind) }):
		return tree, custom
	case !slices.ContainsFunc(leaves, func(q advise.Qdisc) bool { return q.Kind != "fq" }):
		return tree, fine
	case root.Kind != "mq":
		return change.Tree([]change.Node{{Kind: "fq", Handle: own, Parent: change.RootParent, Default: true}}), replace
	}
	nodes := []change.Node{{Kind: "mq", Handle: own, Parent: change.RootParent, Default: true}}
	for _, q := range leaves {
		nodes = append(nodes, change.Node{Kind: "fq", Parent: own | q.Parent&0xffff, Default: true})
	}
	slices.SortFunc(nodes[1:], func(a, b change.Node) int { return int(a.Parent) - int(b.Parent) })
	return change.Tree(nodes), replace
}

// kinds names what a link has, each kind once.
func kinds(l advise.Link) string {
	var list []string
	for _, q := range l.Qdiscs {
		if q.Parent != advise.ParentIngress && !slices.Contains(list, q.Kind) {
			list = append(list, q.Kind)
		}
	}
	return strings.Join(list, " with ")
}

// Summary spells a tree for people: "mq with 4 fq".
func Summary(v change.Value) string {
	nodes, err := change.ParseTree(v.Text)
	if err != nil || !v.Present {
		return change.Brief(v)
	}
	if len(nodes) == 1 {
		return nodes[0].Kind
	}
	count := map[string]int{}
	var order []string
	for _, n := range nodes[1:] {
		if count[n.Kind]++; count[n.Kind] == 1 {
			order = append(order, n.Kind)
		}
	}
	var parts []string
	for _, k := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[k], k))
	}
	return nodes[0].Kind + " with " + strings.Join(parts, " and ")
}
