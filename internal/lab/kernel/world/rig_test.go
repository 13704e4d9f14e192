package world

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// needs skips where the host lacks a part.
func needs(t *testing.T, names ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes namespaces; minimum kernel 5.3")
	}
	for _, line := range lacking(parts) {
		for _, name := range names {
			if strings.HasPrefix(line, name+":") {
				t.Skipf("needs %s; minimum kernel 5.3", line)
			}
		}
	}
}

// runIt runs a cell that must not fail, and checks what every run must keep.
func runIt(t *testing.T, c scenario.Cell) outcome.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	run, err := Run(ctx, &c, 7, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkCounters(t, &c, &run)
	return run
}

// checkCounters: what the links carried and what the qdiscs counted is one story.
func checkCounters(t *testing.T, c *scenario.Cell, run *outcome.Run) {
	t.Helper()
	if run.Host.MetricsCached != 0 || run.Host.Sysctls["net.ipv4.tcp_no_metrics_save"] != "1" {
		t.Errorf("host: %+v", run.Host)
	}
	into := linkOf(run, bn, srv).RxPackets
	out := linkOf(run, bn, wan).TxPackets
	var drops uint64
	for _, h := range run.Hops {
		if h.Node == bn {
			drops += h.Drops
		}
		if h.Backlog != 0 || h.LimitDrops > h.Drops {
			t.Errorf("hop %+v", h)
		}
		in := into
		if h.Node == wan && h.Link == cli {
			in = linkOf(run, wan, bn).RxPackets - hopOf(run, "police").Drops
		}
		forward := h.Node == bn && h.Roles[0] == outcome.RoleLoss || h.Node == wan && h.Link == cli
		if counted := h.Packets + h.Drops; forward && counted != in && !c.Sender.SuperPackets {
			t.Errorf("%d packets came in, %+v", in, h)
		}
	}
	if into != out+drops && !c.Sender.SuperPackets {
		t.Errorf("bn: %d packets in, %d out, %d dropped", into, out, drops)
	}
	for _, f := range run.Flows {
		var bytes uint64
		for _, conn := range f.Conns {
			bytes += conn.Bytes
		}
		if n := len(f.Arrived); n == 0 || f.Arrived[n-1].Bytes != bytes || f.CongSeen != f.Cong {
			t.Errorf("flow %s: %d bytes, marks end %+v, %s", f.Name, bytes, f.Arrived[max(n-1, 0):], f.CongSeen)
		}
	}
}

func linkOf(run *outcome.Run, node, name string) outcome.Link {
	for _, l := range run.Links {
		if l.Node == node && l.Name == name {
			return l
		}
	}
	return outcome.Link{}
}

// hopOf finds a hop by its role or kind.
func hopOf(run *outcome.Run, what string) outcome.Hop {
	for _, h := range run.Hops {
		if h.Qdisc == what {
			return h
		}
		for _, role := range h.Roles {
			if role == what {
				return h
			}
		}
	}
	return outcome.Hop{}
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
