package inspect

import (
	"errors"
	"fmt"

	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/linux/sample"
)

// Spaces reads the congestion control of every other network namespace.
func (local) Spaces() (list []advise.Space, err error) {
	all, err := sample.OpenNamespaces(sample.All)
	if all == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	change, err := all.Refresh() // a second look, as only it tells how many could not be seen
	if err != nil {
		return nil, err
	}
	if change.Unreadable > 0 { // one of them may be alone in its namespace
		noun := "processes"
		if change.Unreadable == 1 {
			noun = "process"
		}
		return nil, fmt.Errorf("inspect %d %s: permission denied: needs CAP_SYS_PTRACE and the capabilities of the process", change.Unreadable, noun)
	}
	for _, n := range all.All() {
		if n.Name == sample.Own {
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
