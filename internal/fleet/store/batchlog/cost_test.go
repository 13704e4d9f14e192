package batchlog

import (
	"testing"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/loop/store/wire/wiretest"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestCostOfAppends: what a batch costs to be kept or refused, and a log of them to be opened.
func TestCostOfAppends(t *testing.T) {
	inputs := wiretest.Hostile(wire.Header{Host: "edge-1", PoP: "chi", Boot: record.BootID{1}, Sequence: 1}, 1_767_322_800, 300)
	dir := t.TempDir()
	l, err := Open(Options{Dir: dir, MaxBytes: 1 << 30})
	check(t, err)
	wiretest.Door(t, inputs, wiretest.InHeader, func(in wiretest.Input) error { return l.Append(in.Frame()) })
	check(t, l.Close())
	wiretest.Door(t, []wiretest.Input{{Name: "a log of all that was taken"}}, wiretest.None, func(wiretest.Input) error {
		l, err := Open(Options{Dir: dir, MaxBytes: 1 << 30})
		if err == nil {
			err = l.Close()
		}
		return err
	})
}
