package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/core/record"
	"github.com/congctl/congctl/internal/kernel/netns"
)

// TestMain lets this binary be the demo's server, as the program itself is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if err := serve(os.Stdout); err != nil {
			os.Exit(exitFailed)
		}
		os.Exit(exitKept)
	}
	os.Exit(m.Run())
}

// A short show without congctl: each class of network, both families, both
// versions of HTTP, for a few seconds, or on a busy machine until each was seen.
func TestStageServerAndLoad(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces and a cgroup; minimum kernel 5.14")
	}
	list := []network{
		{class: narrow, prefix: netns.ClientNet4(100)}, // the first has an HTTP/2 host
		{class: fibre, prefix: netns.ClientNet4(101)},
		{class: line, prefix: netns.ClientNet6(102)},
	}
	var mu sync.Mutex
	seen := map[record.Prefix][]response{}
	e, err := raise(list, func(r response) {
		mu.Lock()
		defer mu.Unlock()
		p, _ := record.PrefixOf(r.Remote)
		seen[p] = append(seen[p], r)
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l := e.load(ctx)
	enough := func(n network) bool {
		mu.Lock()
		defer mu.Unlock()
		p, _ := record.PrefixOf(n.prefix.Addr())
		large, small, two := tally(seen[p])
		return large > 0 && small > 0 && (n.name != "narrow" || two > 0)
	}
	time.Sleep(4 * time.Second)
	for _, n := range list {
		for ctx.Err() == nil && !enough(n) {
			time.Sleep(100 * time.Millisecond)
		}
	}
	cancel()
	l.wg.Wait()
	if pids, err := e.Cgroup.Procs(); err != nil || len(pids) != 1 || pids[0] != e.server.cmd.Process.Pid {
		t.Errorf("in the cgroup: %v, want the server %d alone: %v", pids, e.server.cmd.Process.Pid, err)
	}
	s := &show{edge: e}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if left := s.leftovers(); len(left) > 0 {
		t.Error(leftText(left))
	}
	if l.broken.Load() > 0 {
		t.Errorf("%d downloads broke", l.broken.Load())
	}
	for _, n := range list {
		p, _ := record.PrefixOf(n.prefix.Addr())
		checkResponses(t, n, seen[p])
	}
}

func checkResponses(t *testing.T, n network, rs []response) {
	t.Helper()
	for i := range rs {
		r := &rs[i]
		if r.Before != defaultCong || r.After != defaultCong || r.Cookie == 0 {
			t.Errorf("%s: %+v: want %s throughout", n.prefix, *r, defaultCong)
		}
		if !r.Whole || !r.large() {
			continue
		}
		// The bucket is 10 ms deep and the queue 50 ms at most, beside seconds of data.
		if limit := n.mbit * 1e6 / 8 * 1.3; r.goodput() > limit {
			t.Errorf("%s: %d bytes at %.0f bytes/s through a link of %.0f", n.prefix, r.Bytes, r.goodput(), limit/1.3)
		}
	}
	large, small, two := tally(rs)
	if large == 0 || small == 0 {
		t.Errorf("%s: %d large and %d small responses", n.prefix, large, small)
	}
	if n.name == "narrow" && two == 0 {
		t.Errorf("%s: none over HTTP/2", n.prefix)
	}
}

// tally counts the responses that were not cut off at the end.
func tally(rs []response) (large, small, two int) {
	for i := range rs {
		switch r := &rs[i]; {
		case !r.Whole:
			continue
		case r.large():
			large++
		default:
			small++
		}
		if rs[i].Proto == "HTTP/2.0" {
			two++
		}
	}
	return large, small, two
}

func TestLeftoversAreFound(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a network namespace; minimum kernel 5.14")
	}
	ns, err := netns.Create(fmt.Sprintf("congctl-%s-%d-x", tag, os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	s := &show{dir: t.TempDir()}
	want := []string{filepath.Join(netns.Dir, ns.Name), s.dir}
	if got := s.leftovers(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, want %v", got, want)
	}
}
