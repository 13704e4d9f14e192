package route

import (
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/linux/clock"
	"github.com/congctl/congctl/internal/tcp/record"
)

// eventually waits for what Follow does by itself; the limit is for a machine that
// is very busy, not a promise.
func (w *edgeWorld) eventually(what string, ok func() bool) {
	w.t.Helper()
	for range 200 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.t.Fatalf("never: %s\n%s", what, w.ipEdge("route show"))
}

func (w *edgeWorld) follow(r *Router) {
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- r.Follow(stop) }()
	w.eventually("follows", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.news == nil
	})
	w.t.Cleanup(func() {
		close(stop)
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
}

func TestFollowMovesWithItsOriginal(t *testing.T) {
	w := newEdge(t).gateways()
	r := w.router()
	w.set(r, programOf("bbr", planned4, planned6))
	w.follow(r)
	if err := r.Follow(nil); err == nil {
		t.Error("followed twice")
	}
	w.ipEdge("route replace default via 10.9.1.254 src 192.0.2.1 metric 20 proto bgp")
	w.eventually("IPv4 copy moves", func() bool { return strings.Contains(w.ours(), "203.0.113.0/24 via 10.9.1.254") })
	w.ipEdge("-6 route replace default via fd09:1::fe metric 20 proto bgp")
	w.eventually("IPv6 copy moves", func() bool { return strings.Contains(w.ours(), "::/56 via fd09:1::fe") })
	// A route to the very network: the copy makes way for halves.
	w.ipEdge("route add 203.0.113.0/24 via 10.9.0.254 proto bgp metric 20")
	w.eventually("halves", func() bool { return strings.Contains(w.ours(), "203.0.113.128/25 via 10.9.0.254") })
	// The last way out goes: so do the copies.
	w.ipEdge("-6 route del default")
	w.eventually("IPv6 copy goes", func() bool { return !strings.Contains(w.ours(), "::/56") })
	if rep := r.Report(); rep.Trouble != "" || rep.Drift < 3 {
		t.Errorf("%+v", rep)
	}
}

func TestFollowSeesLinks(t *testing.T) {
	w := newEdge(t).gateways()
	w.ipEdge("route add default via 10.9.1.254 src 192.0.2.1 metric 30 proto bgp")
	r := w.router()
	w.set(r, programOf("bbr", planned4))
	w.follow(r)
	w.ipEdge("link set e0 down")
	w.eventually("copy of the second default", func() bool { return strings.Contains(w.ours(), "203.0.113.0/24 via 10.9.1.254") })
}

// Blocks and expiry end by the clock, with no Set.
func TestFollowKeepsTime(t *testing.T) {
	w := newEdge(t).gateways()
	var r *Router
	err := w.edge.Do(func() (err error) { r, err = Open(); return err })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.follow(r)
	prog := programOf("bbr", planned4, other4)
	prog.Entries[1].Policy.ArmNow, prog.Entries[1].Policy.ArmNext = record.ArmControl, record.ArmTreatment
	// put says when the block ends and when everything does, each far from the other:
	// a machine that stands still for seconds skips neither.
	put := func(block, end time.Duration) {
		t.Helper()
		_, boot := clock.Now()
		for i := range prog.Entries {
			p := &prog.Entries[i].Policy
			p.SwitchNs, p.UntilNs, p.ExpiresNs = uint64(boot+int64(block)), uint64(boot+int64(end)), uint64(boot+int64(end))
		}
		if n, err := r.Set(prog); n > 1 || err != nil {
			t.Fatalf("%d in force, %v", n, err)
		}
	}
	put(time.Hour, 2*time.Hour)
	if got := w.ours(); !strings.Contains(got, "203.0.113.0") || strings.Contains(got, "198.51.100.0") {
		t.Errorf("routes are\n%s", got)
	}
	put(2*time.Second, 2*time.Hour)
	w.eventually("the next block", func() bool {
		return !strings.Contains(w.ours(), "203.0.113.0") && strings.Contains(w.ours(), "198.51.100.0")
	})
	put(-time.Hour, 2*time.Second)
	w.eventually("the end", func() bool { return w.ours() == "" })
}
