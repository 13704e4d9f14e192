package host

import (
	"errors"
	"fmt"

	"github.com/congctl/congctl/internal/core/advise"
	"github.com/congctl/congctl/internal/kernel/sample"
)

// Spaces reads the congestion control of every other network namespace.
func (local) Spaces() (list []advise.Space, err error) {
	all, err := sample.OpenNamespaces(sample.Scope{Mode: sample.ModeAll})
	if all == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	change, err := all.Refresh() // a second look, as only it tells how many could not be seen
	if err != nil {
		return nil, err
	}
	if change.Unreadable > 0 { // one of them may be in a namespace that nobody else is in
		return nil, fmt.Errorf("%d processes may not be looked into, for want of CAP_SYS_PTRACE or of a capability that they have", change.Unreadable)
	}
	for _, n := range all.All() {
		if n.Name == string(sample.ModeOwn) {
			continue
		}
		cong, err := n.DefaultCong()
		if err != nil {
			return nil, err
		}
		list = append(list, advise.Space{Name: n.Name, Current: cong.String()})
	}
	return list, nil
}
