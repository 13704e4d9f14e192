package carry

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/change"
)

// onlyBack is a kernel that takes the values it booted with, and no others.
type onlyBack struct{ memory }

func (p onlyBack) Write(target string, v change.Value) error {
	if was := newFakeHost().live[target]; v.Present && v.Text != was {
		return fmt.Errorf("%s cannot be made again", v.Text)
	}
	return p.memory.Write(target, v)
}

// clear takes all back on a host that takes old values only.
func (h *fakeHost) clear(d Disk) (Report, error) {
	p := onlyBack{h.live}
	e := New(Options{Disk: d, Boot: fmt.Sprint("boot", h.boots), Places: map[change.Kind]Place{change.Sysctl: p, change.Module: p}})
	return e.Clear("host", false, "asked")
}

// again enables with other values of settings and files; the second time a directory goes
// that the first has made.
func (h *fakeHost) again(d Disk, other string) error {
	plan := slices.Clone(wanted)
	for i, s := range plan {
		if s.Kind == change.Sysctl || s.Kind == change.File {
			plan[i].New.Text = other + s.New.Text
		}
	}
	if other == "b" {
		plan[4], plan[5] = change.Step{Kind: change.File, Target: plan[5].Target}, change.Step{Kind: change.Dir, Target: plan[4].Target}
	}
	e := h.engine(d)
	_, err := e.Set("host", func() (change.Plan, error) { return h.plan(e, plan) }, nil)
	return err
}

// thrice enables three times, each with other values: three journals, of one chain.
func thrice(t *testing.T) *fakeHost {
	t.Helper()
	h := newFakeHost()
	if err := errors.Join(h.again(h.disk, "a"), h.again(h.disk, "b"), h.again(h.disk, "c")); err != nil {
		t.Fatal(err)
	}
	if open, err := h.engine(h.disk).Open("host"); err != nil || len(open) != 3 {
		t.Fatalf("%d journals, %v", len(open), err)
	}
	return h
}

// TestStraightBack: the way back over several changes leads to what was there before the
// first; what a later one found of an earlier one is not made again.
func TestStraightBack(t *testing.T) {
	h, off := thrice(t), newFakeHost().text()
	r, err := h.clear(h.disk)
	if err != nil || len(r.Refused) > 0 || h.text() != off {
		t.Errorf("%+v, %v: the host is\n%s\nwant\n%s", r, err, h.text(), off)
	}
	if len(r.Restored) != len(wanted) {
		t.Errorf("%d targets, restored %v", len(wanted), r.Restored)
	}
	for _, n := range r.Restored {
		if was, _ := newFakeHost().engine(newFakeHost().disk).Read(n.Step.Kind, n.Step.Target); n.Step.Old != was {
			t.Errorf("%s is reported as %s, and was %s", n.Step, change.Brief(n.Step.Old), change.Brief(was))
		}
	}
	if open, err := h.engine(h.disk).Open("host"); err != nil || len(open) > 0 {
		t.Errorf("open: %v, %v", open, err)
	}
}

// TestStraightBackCut cuts that way anywhere, and a fourth change, on a disk that loses
// what it may: the next clear ends it, and makes nothing of an earlier change again either.
func TestStraightBackCut(t *testing.T) {
	long(t)
	for what, first := range map[string]func(*fakeHost, Disk) error{
		"clear": func(h *fakeHost, d Disk) error { _, err := h.clear(d); return err },
		"set":   func(h *fakeHost, d Disk) error { return h.again(d, "d") },
	} {
		for i, l := range append(slices.Clone(losses), "process killed") {
			n := 1 + i%3 // a third of the cuts of each loss: all together meet each cut once at least
			for ; straightCut(t, n, l, first); n += 3 {
			}
			if n < 30 {
				t.Errorf("%s, %s: %d cuts", what, l, n)
			}
		}
	}
}

// straightCut reports whether there was an n-th operation to cut.
func straightCut(t *testing.T, n int, l loss, first func(*fakeHost, Disk) error) bool {
	t.Helper()
	h, off := thrice(t), newFakeHost().text()
	err := first(h, &Counted{Disk: h.disk, N: n, Cut: powerCut})
	if err == nil {
		return false
	}
	at := fmt.Sprintf("cut at %d, %s", n, l)
	if !errors.Is(err, ErrPowerCut) {
		t.Fatalf("%s: %v", at, err)
	}
	if l != "process killed" {
		h.disk.cut(l)
		h.boot()
	}
	if r, err := h.clear(h.disk); err != nil && !errors.Is(err, ErrNothing) || len(r.Refused) > 0 || h.text() != off {
		t.Fatalf("%s: %+v, %v: the host is\n%s\nwant\n%s", at, r, err, h.text(), off)
	}
	return true
}

// TestNewestEndsFirst: a set that ends a refused undo, and is cut there, leaves nothing by
// which force would bring a value of ours back.
func TestNewestEndsFirst(t *testing.T) {
	for n := 1; ; n++ {
		h := newFakeHost()
		if err := errors.Join(h.again(h.disk, "a"), h.again(h.disk, "b")); err != nil {
			t.Fatal(err)
		}
		h.live["cc"] = "reno"
		if _, err := h.engine(h.disk).Clear("host", false, "asked"); err != nil {
			t.Fatal(err)
		}
		cut := h.again(&Counted{Disk: h.disk, N: n, Cut: powerCut}, "c")
		if _, err := h.engine(h.disk).Clear("host", true, "asked"); err != nil && !errors.Is(err, ErrNothing) {
			t.Fatal(err)
		}
		if cc := h.live["cc"]; cc != "reno" && cc != "cubic" {
			t.Errorf("cut at %d: cc is %s", n, cc)
		}
		if cut == nil {
			break
		}
	}
}

// TestStraightStopsAtSomebody: what somebody wrote between two changes is what comes back.
func TestStraightStopsAtSomebody(t *testing.T) {
	h := newFakeHost()
	if err := h.enable(h.disk); err != nil {
		t.Fatal(err)
	}
	h.live["cc"] = "reno"
	if err := h.enable(h.disk); err != nil {
		t.Fatal(err)
	}
	r, err := h.engine(h.disk).Clear("host", false, "asked")
	if err != nil || h.live["cc"] != "reno" || h.live["qdisc"] != "pfifo" || len(r.Refused) != 1 {
		t.Errorf("cc %s, qdisc %s, %+v, %v", h.live["cc"], h.live["qdisc"], r, err)
	}
	if _, err := h.engine(h.disk).Clear("host", true, "asked"); err != nil || h.live["cc"] != "cubic" {
		t.Errorf("by force: cc %s, %v", h.live["cc"], err)
	}
}

// TestStuckOnce: a target that cannot be taken back fails once, not as somebody's in the
// older changes, and comes back when it can be written.
func TestStuckOnce(t *testing.T) {
	h, off := thrice(t), newFakeHost().text()
	r, err := stuck{h, []string{"cc"}}.disable(h.disk)
	if err == nil || len(r.Failed) != 1 || len(r.Refused) > 0 || len(r.Restored) != len(wanted)-1 || r.Failed[0].Step.Old.Text != "cubic" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := h.clear(h.disk); err != nil || len(r.Refused) > 0 || h.text() != off {
		t.Errorf("%+v, %v: the host is\n%s", r, err, h.text())
	}
}

// TestLastLineOfAKilledOne: a process that is killed right before its last line is synced
// leaves that to chance; the next change must not be cut off with that line lost, and its
// own kept.
func TestLastLineOfAKilledOne(t *testing.T) {
	long(t)
	off := newFakeHost().text()
	whole := &Counted{Disk: newFakeHost().disk}
	if err := newFakeHost().again(whole, "a"); err != nil {
		t.Fatal(err)
	}
	for first := -whole.N; first > -whole.N-4; first-- {
		for i, l := range losses {
			for second, cut := 1+i, true; cut; second += len(losses) {
				h := newFakeHost()
				if err := h.again(&Counted{Disk: h.disk, N: first, Cut: powerCut}, "a"); !errors.Is(err, ErrPowerCut) {
					t.Fatal(err)
				}
				cut = h.again(&Counted{Disk: h.disk, N: second, Cut: powerCut}, "b") != nil
				h.disk.cut(l)
				h.boot()
				err := h.again(h.disk, "c")
				r, undo := h.engine(h.disk).Clear("host", false, "asked")
				if err != nil || undo != nil || len(r.Refused) > 0 || h.text() != off {
					t.Fatalf("killed at %d, cut at %d, %s: %v, %v, %+v: the host is\n%s\nwant\n%s", first, second, l, err, undo, r, h.text(), off)
				}
			}
		}
	}
}
