package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/costtest"
	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/loop/store/wire/wiretest"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestHostileRecords: whatever one agent pushes, the controller says little of it, and the window in which it has 80,000
// congestion controls is decided with the other hosts' records.
func TestHostileRecords(t *testing.T) {
	f := newFleetOf(t, quickSettings(), "")
	ann := f.operator(mtls.Operator)
	honest, mallory := f.puppet("edge-1"), f.puppet("mallory")
	next := func() int64 { return time.Now().Unix()/3*3 + 9 }
	head := func(host string, sequence uint64, ends ...wire.WindowEnd) wire.Header {
		return wire.Header{Boot: record.BootID{1}, Host: host, PoP: "chi", Sequence: sequence, Ends: ends}
	}
	for _, in := range wiretest.Hostile(head("mallory", 1), next(), 3) {
		err := mallory.c.Send(t.Context(), in.Frame())
		if (err != nil) != (in.Fault != wiretest.None) || err != nil && (!errors.Is(err, link.ErrRefused) || len(err.Error()) > foreign.MaxText+100) {
			t.Errorf("%s: %.500v", in.Name, err)
		}
	}
	start := next()
	for i := range uint64(80) {
		var b wire.Batch
		for j := range 1000 {
			c := *uplinkConn(uint64(j))
			c.Window, c.Assigned, c.Applied, c.Cong = start, record.ArmNone, record.AppliedNone, fmt.Sprintf("c%d-%d", i, j)
			check(t, b.Add(&c))
		}
		h := head("mallory", 100+i, wire.WindowEnd{Start: start, Starved: strings.Repeat("\x1b[2J", 60_000)})
		frame, err := b.AppendFrame(nil, &h)
		check(t, err)
		check(t, mallory.c.Send(t.Context(), frame))
	}
	check(t, honest.c.Send(t.Context(), batchOf(t, head("edge-1", 1, wire.WindowEnd{Start: start}), start, 100)))
	var rounds []journal.Round
	eventually(t, "a round of the window", patience, func() bool {
		ann.ask(&rounds, "rounds", "-n", "0", "--pop", "chi")
		return slices.ContainsFunc(rounds, func(r journal.Round) bool { return r.Window == start && r.Known == 1 })
	})
	f.stop()
	for line := range strings.Lines(f.log.String()) {
		if len(line) > costtest.MaxText+100 || strings.ContainsAny(line, "\x1b\u202e") { // the line's own time and level
			t.Errorf("a line of %d bytes: %.200q", len(line), line)
		}
	}
}
