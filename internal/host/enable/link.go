package enable

import (
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/host/advise"
)

// ordinary are the qdiscs that kernels and distributions attach by default: queues without a
// rate, so that fq replaces them without losing a limit.
var ordinary = []string{"pfifo_fast", "fq_codel", "pfifo", "bfifo", "sfq", "codel"}

type verdict int

const (
	replace verdict = iota
	fine            // it has fq, or no queue at all
	custom          // somebody's shaper, or one that cannot be restored
)

func (p *planner) links() {
	if !p.fair {
		return
	}
	if !p.f.Links.OK() {
		p.note("interfaces", "are left unchanged: "+p.f.Links.Why)
		return
	}
	for _, l := range p.f.Links.Value {
		switch tree, v := fairTree(l); v {
		case replace:
			p.step(change.Qdisc, l.Name, tree, "connections on it, now")
		case custom:
			p.note(l.Name, "has "+kinds(l)+", which others set: it stays (TCP paces BBR by itself)")
		}
	}
}

// fairTree returns the tree that a link should have. A multi-queue link keeps its mq and gets fq in
// each leaf: one fq at the root would put all queues behind one lock.
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
	case slices.ContainsFunc(leaves, func(q advise.Qdisc) bool { return q.Lost }):
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

// Summary prints a tree for people: "mq with 4 fq".
func Summary(v change.Value) string {
	nodes, err := change.ParseTree(v.Text)
	if err != nil || len(nodes) == 0 {
		return change.Brief(v)
	}
	if len(nodes) == 1 {
		return nodes[0].Kind
	}
	var kinds []string
	for _, n := range nodes[1:] {
		kinds = append(kinds, n.Kind)
	}
	return nodes[0].Kind + " with " + advise.Counted(kinds)
}
