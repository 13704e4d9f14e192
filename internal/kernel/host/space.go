package host

import (
	"errors"

	"github.com/congctl/congctl/internal/core/advise"
	"github.com/congctl/congctl/internal/kernel/sample"
)

// errUnseen is why other namespaces stay unseen: those of other users' processes are
// only told to who may trace them.
var errUnseen = errors.New("other network namespaces can only be found and entered with CAP_SYS_ADMIN and CAP_SYS_PTRACE")

// Spaces reads the congestion control of every other network namespace.
func (local) Spaces() (list []advise.Space, err error) {
	all, err := sample.OpenNamespaces(sample.Scope{Mode: sample.ModeAll})
	if all == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	change, err := all.Refresh() // a second look, as only it tells how many could not be seen
	if err != nil || change.Unreadable > 0 {
		return nil, errUnseen
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
