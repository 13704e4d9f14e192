package enforce

import (
	"fmt"
	"sync/atomic"

	"github.com/cilium/ebpf"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Set makes prog the whole state: prefixes that it does not name are no longer treated. It
// fills the idle policy map, reads it back, and then puts it in force with one store, so a
// callback sees the old plan or the new one, never a mixture. It returns how many prefixes
// are in force. On any failure the old state stays in force unchanged. Calling it again with
// the same program changes nothing except the expiry.
func (e *Enforcer) Set(prog plan.Program) (int, error) {
	idle, next := e.objs.PolicyB, uint32(1)
	if atomic.LoadUint32(&e.control.v.Active) == 1 {
		idle, next = e.objs.PolicyA, 0
	}
	want := make(map[record.Prefix]abi.Policy, len(prog.Entries))
	for _, entry := range prog.Entries {
		want[entry.Prefix] = entry.Policy
	}
	if len(want) != len(prog.Entries) {
		return 0, fmt.Errorf("set plan %d: %d entries for %d prefixes: a prefix is listed twice", prog.Plan, len(prog.Entries), len(want))
	}
	if err := fill(idle, want); err != nil {
		return 0, fmt.Errorf("set plan %d, the previous plan stays: %w", prog.Plan, err)
	}
	e.control.flip(next, &prog)
	return len(want), nil
}

// fill makes want all that a policy map holds, and reads it back.
func fill(m *ebpf.Map, want map[record.Prefix]abi.Policy) error {
	have, err := policies(m)
	if err != nil {
		return err
	}
	for p := range have {
		if _, stays := want[p]; stays {
			continue
		}
		if err := m.Delete(uint64(p)); err != nil {
			return fmt.Errorf("delete %s: %w", p, err)
		}
	}
	for p, v := range want {
		if err := m.Put(uint64(p), v); err != nil {
			return fmt.Errorf("put %s: %w", p, err)
		}
	}
	if have, err = policies(m); err != nil {
		return err
	}
	for p, v := range have {
		if w, ok := want[p]; !ok || w != v {
			return fmt.Errorf("verify policy map: %s reads back differently", p)
		}
	}
	if len(have) != len(want) {
		return fmt.Errorf("verify policy map: %d prefixes read back, %d written", len(have), len(want))
	}
	return nil
}

func policies(m *ebpf.Map) (map[record.Prefix]abi.Policy, error) {
	found := map[record.Prefix]abi.Policy{}
	var k uint64
	var v abi.Policy
	it := m.Iterate()
	for it.Next(&k, &v) {
		found[record.Prefix(k)] = v
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("list policy map: %w", err)
	}
	return found, nil
}
