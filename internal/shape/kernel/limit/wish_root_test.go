package limit

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

// setOrSkip sets as the verb does, and skips where this kernel lacks a part of it.
func setOrSkip(t *testing.T, p pair, h *Host, r Request) {
	t.Helper()
	err := p.a.Do(func() error { _, err := h.Set(r, "test", time.Now(), nil); return err })
	if errors.Is(err, qdisc.ErrUnknown) || errors.Is(err, unix.EOPNOTSUPP) {
		t.Skipf("needs more of the kernel: %v; minimum kernel 5.3", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// journalled writes the journal of a limit that was set when a link had other qdiscs.
func journalled(t *testing.T, h *Host, was, is string) {
	t.Helper()
	head, err := h.header("a", "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	head.Netns, head.Link = "", nil // as earlier versions wrote it
	now := change.Text(is)
	b := change.Opening(change.Plan{Header: head, Steps: []change.Step{{Kind: change.Egress, Target: "a", Old: change.Text(was), New: now}}})
	for _, l := range []change.Line{{Event: change.Intend}, {Event: change.Done, Now: &now}, {Event: change.Apply}} {
		b = append(b, l.Bytes()...)
	}
	dir := filepath.Join(h.Root, h.dir)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, head.ID+".journal"), b, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func openIn(p pair, h *Host) (open []*change.Journal, err error) {
	err = p.a.Do(func() (err error) { open, err = h.engine.Open(subject("a")); return err })
	return open, err
}

func waitsIn(p pair, h *Host) (waits *Pending, err error) {
	err = p.a.Do(func() (err error) { waits, err = h.Waits("a"); return err })
	return waits, err
}

// A set is the whole request: incoming packets are left alone again if it does not name them.
func TestPlainSetTakesIngressBack(t *testing.T) {
	p := newPair(t)
	h, r := newTestHost(t), ask(8e6)
	before := settings(t, p)
	r.Ask.Ingress = 8e6
	setOrSkip(t, p, h, r)
	setOrSkip(t, p, h, ask(16e6))
	if got := settings(t, p); got[change.Ingress] != change.NoIngress || got[change.Egress] != "shaped 2000000 3028 203028 -" {
		t.Errorf("got %v", got)
	}
	in(t, p.a, func() error { _, err := h.Clear("a", false, time.Now()); return err })
	for kind, v := range settings(t, p) {
		if v != before[kind] {
			t.Errorf("%s: before %q, after %q", kind, before[kind], v)
		}
	}
}

// Whenever the verb dies, the process that was started before its first write takes all
// back; and where that process cannot be started, nothing is written.
func TestDiesBeforeItIsConfirmed(t *testing.T) {
	p := newPair(t)
	before := settings(t, p)
	died := 0
	for n := 1; died == n-1; n++ {
		h := newTestHost(t)
		cut := &carry.Counted{Disk: h.disk, N: n, Cut: func() error { return carry.ErrPowerCut }}
		h.engine = carry.New(carry.Options{Disk: cut, Dir: h.dir, Places: Places, Boot: h.boot})
		id := ""
		guard := h.Guarded(Pending{Link: "a"}, time.Minute, func(got string) error { id = got; return nil })
		err := p.a.Do(func() error { _, err := h.Set(ask(8e6), "test", time.Now(), guard); return err })
		if errors.Is(err, carry.ErrPowerCut) {
			died++
			note(t, h, id) // a killed process removes no note
		}
		in(t, p.a, func() error {
			child, err := NewHost(h.Root, h.dir)
			if err == nil && id != "" {
				err = child.RevertUnless("a", id, 0)
			}
			return err
		})
		for kind, v := range settings(t, p) {
			if v != before[kind] {
				t.Fatalf("cut %d: %s: before %q, after %q", n, kind, before[kind], v)
			}
		}
	}
	if died < 5 {
		t.Errorf("died %d times", died)
	}
}

func note(t *testing.T, h *Host, id string) {
	t.Helper()
	if id == "" {
		return
	}
	if err := h.Await(Pending{Link: "a", ID: id, End: h.clock() + time.Minute}); err != nil {
		t.Fatal(err)
	}
}

func TestNobodyToTakeItBack(t *testing.T) {
	p := newPair(t)
	h, before := newTestHost(t), settings(t, p)
	broken := errors.New("no such program")
	guard := h.Guarded(Pending{Link: "a"}, time.Minute, func(string) error {
		if get(t, p.a, change.Egress) != before[change.Egress] {
			t.Error("written before it was started")
		}
		return broken
	})
	err := p.a.Do(func() error { _, err := h.Set(ask(8e6), "test", time.Now(), guard); return err })
	open, e := openIn(p, h)
	waits, e2 := waitsIn(p, h)
	if !errors.Is(err, broken) || get(t, p.a, change.Egress) != before[change.Egress] || len(open) > 0 || waits != nil || e != nil || e2 != nil {
		t.Errorf("%v, %s, %d journals, %+v, %v, %v", err, get(t, p.a, change.Egress), len(open), waits, e, e2)
	}
}

// A bucket that loses what hung below goes on sending at its rate, and show says so.
func TestInnerGoesUnderTraffic(t *testing.T) {
	p := newPair(t)
	h, r := newTestHost(t), ask(8e6)
	r.Ask.Inner = "fq_codel"
	setOrSkip(t, p, h, r)
	f := p.flood(t, false)
	for _, want := range []string{"fq_codel", "", "fq_codel", ""} {
		r.Ask.Inner = want
		setOrSkip(t, p, h, r)
		f.await(t, 500_000) // more than bucket and queue had at the change
		in(t, p.a, func() error {
			v, err := h.View("a")
			if err == nil && (v.Egress.Below != want || !v.Ours || len(v.Warnings) > 0 || v.Egress.RateBytesPerS != 1e6) {
				t.Errorf("wanted %q below, got %+v, %q", want, v.Egress, v.Warnings)
			}
			return err
		})
		wire, _ := f.measure(t, 1_000_000)
		if wire > 1e6*(1+share) {
			t.Errorf("%q below: %.0f B/s", want, wire)
		}
	}
}

// A limit that was interrupted before it could be confirmed is not finished by the next
// one: nothing would guard that.
func TestInterruptedIsNotFinished(t *testing.T) {
	p := newPair(t)
	before := settings(t, p)
	for n := 1; ; n++ {
		h := newTestHost(t) // with more journals there would be more to cut each time
		cut := &carry.Counted{Disk: h.disk, N: n, Cut: func() error { return carry.ErrPowerCut }}
		whole := h.engine
		h.engine = carry.New(carry.Options{Disk: cut, Dir: h.dir, Places: Places, Boot: h.boot})
		start := func(string) error { return nil }
		guard := h.Guarded(Pending{Link: "a"}, time.Minute, start)
		err := p.a.Do(func() error { _, err := h.Set(ask(8e6), "test", time.Now(), guard); return err })
		h.engine = whole
		if err == nil {
			break
		}
		if !errors.Is(err, carry.ErrPowerCut) {
			t.Fatal(err)
		}
		in(t, p.a, func() error {
			left, err := h.engine.Open(subject("a"))
			if err != nil {
				return err
			}
			h.take("a") // of another boot
			whole := slices.DeleteFunc(left, func(j *change.Journal) bool { return j.Phase != change.Applied })
			if _, err := h.Set(ask(80e6), "test", time.Now(), h.Guarded(Pending{Link: "a"}, time.Minute, start)); err != nil {
				return err
			}
			open, err := h.engine.Open(subject("a"))
			if len(open) != len(whole)+1 {
				t.Errorf("cut %d: %d changes are in force, %d were whole before", n, len(open), len(whole))
			}
			_, clear := h.Clear("a", false, time.Now())
			return errors.Join(err, clear)
		})
		for kind, v := range settings(t, p) {
			if v != before[kind] {
				t.Fatalf("cut %d: %s: before %q, after %q", n, kind, before[kind], v)
			}
		}
	}
}

// full is a disk that takes so many operations more, and fails at as many after that.
type full struct {
	carry.Disk
	takes, fails int
}

func (d *full) Do(op carry.Op) error {
	if d.takes--; d.takes < 0 && d.takes >= -d.fails {
		return unix.ENOSPC
	}
	return d.Disk.Do(op)
}

func (h *Host) onDisk(d carry.Disk) *carry.Engine {
	return carry.New(carry.Options{Disk: d, Dir: h.dir, Places: Places, Boot: h.boot})
}

// guardedSet sets a limit that waits to be confirmed and returns its journal's name.
func guardedSet(t *testing.T, p pair, h *Host, d carry.Disk) (id string, err error) {
	t.Helper()
	whole := h.engine
	defer func() { h.engine = whole }()
	h.engine = h.onDisk(d)
	guard := h.Guarded(Pending{Link: "a"}, time.Minute, func(got string) error { id = got; return nil })
	return id, p.a.Do(func() error { _, err := h.Set(ask(8e6), "test", time.Now(), guard); return err })
}

// A note that cannot be read is no confirmation, and one failure of the disk does not end
// the attempts to take the limit back.
func TestRevertsInSpiteOfFaults(t *testing.T) {
	p := newPair(t)
	before := settings(t, p)
	for name, fault := range map[string]func(*Host, string){
		"a note that cannot be read": func(h *Host, id string) {
			if err := errors.Join(os.Remove(h.pendingPath(id)), os.Mkdir(h.pendingPath(id), 0o700)); err != nil {
				t.Fatal(err)
			}
		},
		"a full disk for a moment": func(h *Host, _ string) { h.engine = h.onDisk(&full{h.disk, 0, 1}) },
	} {
		h := newTestHost(t)
		id, err := guardedSet(t, p, h, h.disk)
		if err != nil || settings(t, p)[change.Egress] == before[change.Egress] {
			t.Fatalf("%s: no limit: %v", name, err)
		}
		fault(h, id)
		in(t, p.a, func() error { return h.RevertUnless("a", id, 0) })
		if now := settings(t, p)[change.Egress]; now != before[change.Egress] {
			t.Errorf("%s: %q stays", name, now)
		}
	}
}

// A set that fails takes its note away only if nothing is left of it: else the process
// that waits has still to try.
func TestFailedSetIsStillWatched(t *testing.T) {
	p := newPair(t)
	before := settings(t, p)
	failed, left := 0, 0
	for n := 0; ; n++ {
		h := newTestHost(t)
		id, err := guardedSet(t, p, h, &full{h.disk, n, 1000})
		if err == nil {
			in(t, p.a, func() error { return h.RevertUnless("a", id, 0) })
			break
		}
		failed++
		waits, wErr := waitsIn(p, h)
		if settings(t, p)[change.Egress] != before[change.Egress] {
			left++
			if wErr != nil || waits == nil {
				t.Errorf("fault %d: a limit is left (%v) and nobody watches it: %v", n, err, wErr)
			}
		}
		if id != "" {
			in(t, p.a, func() error { return h.RevertUnless("a", id, 0) })
		}
		if now := settings(t, p)[change.Egress]; now != before[change.Egress] {
			t.Fatalf("fault %d: %q stays", n, now)
		}
	}
	if failed < 5 || left == 0 {
		t.Errorf("failed %d times, %d with a limit left", failed, left)
	}
}
