package enforce

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/congctl/congctl/internal/core/abi"
	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/record"
)

// Failure is one prefix that the kernel did not take.
type Failure struct {
	Prefix record.Prefix
	Err    error
}

// Report is what Set did.
type Report struct {
	Plan    record.PlanID
	Set     int // prefixes in force now
	Removed int // prefixes of the previous state that are gone
	Failed  []Failure
}

// Set makes prog the whole state: prefixes that it does not name are treated no
// more. It fills the idle policy map, reads it back, and then puts it in force
// with one store, so a callback sees the old plan or the new one, never a mixture.
// On any failure the old state stays in force untouched and Failed says why.
// Calling it again with the same program changes nothing but the expiry.
func (e *Enforcer) Set(prog plan.Program) (Report, error) {
	r := Report{Plan: prog.Plan}
	was, idle, next := e.objs.PolicyA, e.objs.PolicyB, uint32(1)
	if e.control.active() == 1 {
		was, idle, next = e.objs.PolicyB, e.objs.PolicyA, 0
	}
	want := make(map[record.Prefix]*abi.Policy, len(prog.Entries))
	for i := range prog.Entries {
		want[prog.Entries[i].Prefix] = &prog.Entries[i].Policy
	}
	if len(want) != len(prog.Entries) {
		return r, fmt.Errorf("set plan %d: %d prefixes, %d of them different; a prefix stands twice", prog.Plan, len(prog.Entries), len(want))
	}
	if err := clearOthers(idle, want); err != nil {
		return r, fmt.Errorf("set plan %d: %w", prog.Plan, err)
	}
	for p, v := range want {
		if err := idle.Put(uint64(p), v); err != nil {
			r.Failed = append(r.Failed, Failure{p, err})
		}
	}
	if len(r.Failed) > 0 {
		return r, fmt.Errorf("set plan %d: %d of %d prefixes refused, the previous plan stays: %s: %w",
			prog.Plan, len(r.Failed), len(want), r.Failed[0].Prefix, r.Failed[0].Err)
	}
	if err := verify(idle, want); err != nil {
		return r, fmt.Errorf("set plan %d: %w", prog.Plan, err)
	}
	gone, err := missing(was, want)
	if err != nil {
		return r, fmt.Errorf("set plan %d: %w", prog.Plan, err)
	}
	minBytes := prog.MinBytes
	if minBytes == 0 {
		minBytes = e.opt.MinBytes
	}
	e.control.flip(next, uint64(prog.Plan), minBytes)
	r.Set, r.Removed = len(want), gone
	return r, nil
}

// clearOthers deletes from m every key that want does not hold.
func clearOthers(m *ebpf.Map, want map[record.Prefix]*abi.Policy) error {
	var stale []uint64
	var k uint64
	var v abi.Policy
	it := m.Iterate()
	for it.Next(&k, &v) {
		if _, ok := want[record.Prefix(k)]; !ok {
			stale = append(stale, k)
		}
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("list policy map: %w", err)
	}
	for _, k := range stale {
		if err := m.Delete(k); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("delete %s: %w", record.Prefix(k), err)
		}
	}
	return nil
}

// verify reads m back and compares it with want.
func verify(m *ebpf.Map, want map[record.Prefix]*abi.Policy) error {
	var k uint64
	var v abi.Policy
	n := 0
	it := m.Iterate()
	for it.Next(&k, &v) {
		w, ok := want[record.Prefix(k)]
		if !ok || *w != v {
			return fmt.Errorf("verify policy map: %s reads back different", record.Prefix(k))
		}
		n++
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("verify policy map: %w", err)
	}
	if n != len(want) {
		return fmt.Errorf("verify policy map: %d prefixes read back, %d written", n, len(want))
	}
	return nil
}

// missing counts the keys of m that want does not hold.
func missing(m *ebpf.Map, want map[record.Prefix]*abi.Policy) (int, error) {
	var k uint64
	var v abi.Policy
	n := 0
	it := m.Iterate()
	for it.Next(&k, &v) {
		if _, ok := want[record.Prefix(k)]; !ok {
			n++
		}
	}
	return n, it.Err()
}
