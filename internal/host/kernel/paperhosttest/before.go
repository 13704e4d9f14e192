package paperhosttest

import (
	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/host/advise"
)

// Before reads targets from facts, for a host on paper: its plan can be shown but not carried out.
// Modes, owners and a qdisc's options are not among the facts, and every directory is assumed to
// exist.
func Before(f *advise.Facts) change.Read {
	return func(k change.Kind, target string) (change.Value, error) {
		switch k {
		case change.Sysctl:
			return change.Text(f.Sysctl[target].Value), nil
		case change.Module:
			if s := f.Module(target).State; s.OK() && s.Value == advise.ModuleLoaded {
				return change.Text("loaded"), nil
			}
		case change.Qdisc:
			return treeOf(f, target), nil
		case change.File:
			if t, ok := f.Files.Get(target); ok {
				v := change.FileText(t.Text)
				if t.Exec {
					v.Mode = 0o755
				}
				return v, nil
			}
		case change.Dir:
			return change.Value{Present: true, Mode: 0o755}, nil
		}
		return change.Absent, nil
	}
}

func treeOf(f *advise.Facts, link string) change.Value {
	var nodes []change.Node
	for _, l := range f.Links.Value {
		if l.Name != link {
			continue
		}
		for _, q := range l.Qdiscs {
			if q.Parent != advise.ParentIngress {
				nodes = append(nodes, change.Node{Kind: q.Kind, Handle: q.Handle, Parent: q.Parent})
			}
		}
	}
	if nodes == nil {
		return change.Absent
	}
	return change.Tree(nodes)
}
