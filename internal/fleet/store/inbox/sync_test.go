package inbox

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/congctl/congctl/internal/loop/store/wire"
)

// TestTogether: hosts that send at the same time, and windows that close meanwhile, lose nothing of a window that stays open.
func TestTogether(t *testing.T) {
	const hosts, each = 8, 20
	dir := t.TempDir()
	in := open(t, dir, 0)
	var all sync.WaitGroup
	for i := range hosts {
		all.Go(func() {
			host := fmt.Sprint("h", i)
			for n := range uint64(each) {
				if err := in.Take(host, frame(wire.Header{Host: host, Boot: boot(host), Sequence: n + 1}, now-w, now), now); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		if err := in.Close(now - w); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	check(t, in.Shut())
	in = open(t, dir, now-w)
	if got := read(t, in, now); len(got) != hosts*each {
		t.Errorf("%d records, want %d", len(got), hosts*each)
	}
	check(t, in.Shut())
}

// TestSyncFails: what the disk did not take is taken by no later sync of the same file, whoever asks.
func TestSyncFails(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	check(t, err)
	good, err := os.Open(f.Name())
	check(t, err)
	defer good.Close()
	check(t, f.Close())
	p := newPane(f)
	if p.wrote.Add(1); p.sync(1) == nil {
		t.Fatal("a closed file is synced")
	}
	p.file = good
	if p.wrote.Add(1); p.sync(2) == nil || p.sync(1) == nil {
		t.Error("later syncs succeed")
	}
}

// TestDoubledIsSyncedOnce: a batch that comes again costs no sync of its own once the first is on the disk.
func TestDoubledIsSyncedOnce(t *testing.T) {
	in := open(t, t.TempDir(), 0)
	f := frame(wire.Header{Host: "a", Boot: boot("a"), Sequence: 1}, now)
	for range 3 {
		check(t, in.Take("a", f, now))
	}
	if p := in.panes[now]; p.wrote.Load() != 1 || p.disk.writes != 1 {
		t.Errorf("%d writes, %d on the disk", p.wrote.Load(), p.disk.writes)
	}
	check(t, in.Shut())
}
