package enforce

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// SetNetns makes want the whole set of namespaces that are followed and may be treated,
// each with its default congestion control. Accepted connections of other namespaces are
// only counted. changed lists the namespaces whose passive counter must be taken to start
// again.
func (e *Enforcer) SetNetns(want map[record.NetnsID]inetdiag.Cong) (changed []record.NetnsID, err error) {
	e.control.noteSleep() // here, since each poll comes by: a host may be suspended at any time
	for id := range e.ns {
		if _, ok := want[record.NetnsID(id)]; ok {
			continue
		}
		if err := e.objs.Netns.Delete(id); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return changed, fmt.Errorf("remove namespace %d: %w", id, err)
		}
		delete(e.ns, id)
	}
	for id, cong := range want {
		if was, ok := e.ns[uint64(id)]; ok && was == cong {
			continue
		}
		if err := e.objs.Netns.Put(uint64(id), abi.Netns{DefaultCong: cong}); err != nil {
			return changed, fmt.Errorf("follow namespace %d: %w", id, err)
		}
		e.ns[uint64(id)] = cong
		changed = append(changed, id)
	}
	return changed, nil
}

// Passive counts the accepted connections that eBPF saw in a namespace.
func (e *Enforcer) Passive(id record.NetnsID) (uint64, error) {
	var v abi.Netns
	if err := e.objs.Netns.Lookup(uint64(id), &v); err != nil {
		return 0, fmt.Errorf("count accepted connections of namespace %d: %w", id, err)
	}
	return v.Passive, nil
}
