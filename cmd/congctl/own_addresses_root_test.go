package main

import (
	"testing"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestOwnAddressesAreNoClients: connections from addresses of the same namespace, single ones and whole networks
// that are local, are no clients', whether a poll sees them or only their close record; in a container neither.
func TestOwnAddressesAreNoClients(t *testing.T) {
	needRoot(t)
	container, err := netns.Anonymous()
	check(t, err)
	t.Cleanup(func() { container.Close() })
	check(t, container.Do(layLoopback))
	cfg := quickSettings()
	cfg.Netns, cfg.Clients = "[own, "+container.Path()+"]", "{}"
	e := newEdge(t, cfg)
	e.start()
	inside := newServerInside(t, container.Do)
	for _, s := range []*server{newServer(t), inside} {
		for _, from := range []int{3, networks + 3} {
			s.transfers(client(from, 1), 3)
			kept := s.dial(client(from, 2))
			check(t, kept.get(large))
			t.Cleanup(func() { kept.Close() })
		}
	}
	began := e.awaitStatus("a window's end", func(s control.Status) bool {
		return s.Agent.Ledger.Emitted[record.EndWindow] >= 4 && s.Agent.Ledger.Emitted[record.EndClose] >= 12
	})
	e.awaitStatus("another poll", func(s control.Status) bool { return s.Agent.Polls > began.Agent.Polls+2 })
	e.stop()
	ends := map[record.End]int{}
	for _, c := range e.records() {
		if !c.Passive {
			continue
		}
		ends[c.End]++
		if c.ClientFacing {
			t.Errorf("%s to %s is a client's, by its record at %s", c.Remote, c.Local, c.End)
		}
	}
	if ends[record.EndClose] != 12 || ends[record.EndWindow] < 4 {
		t.Errorf("records %v", ends)
	}
}
