package limit

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/linux/instance"
)

// waiting is a host on which a limit waits for a minute from now; its clock is the test's.
func waiting(t *testing.T) (h *Host, clock *time.Duration) {
	t.Helper()
	h, err := NewHost(t.TempDir(), "/var/lib/changes")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(h.Root+h.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	now := time.Hour
	h.clock = func() time.Duration { return now }
	if err := h.Guarded(Pending{Link: "eth0"}, time.Minute, func(string) error { return nil })("7"); err != nil {
		t.Fatal(err)
	}
	return h, &now
}

// TestTornNote: what a power cut left of a note blocks nothing, and is no limit that waits.
func TestTornNote(t *testing.T) {
	h, _ := waiting(t)
	if p, err := h.Waits("eth0"); p == nil || err != nil || p.ID != "7" {
		t.Errorf("a whole one: %+v, %v", p, err)
	}
	for _, left := range []string{"", `{"link":"eth0","id":"0000`} {
		if err := os.WriteFile(h.pendingPath("7"), []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := h.Waits("eth0"); p != nil || err != nil {
			t.Errorf("%q: %+v, %v", left, p, err)
		}
	}
}

// TestShowTellsOfTheWait: also of a limit that was neither confirmed nor reverted.
func TestShowTellsOfTheWait(t *testing.T) {
	h, now := waiting(t)
	says := func(want string) {
		t.Helper()
		if got := strings.Join(h.unconfirmed("eth0"), "; "); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("says %q, want %q", got, want)
		}
	}
	says("congctl shape confirm eth0 keeps it")
	*now += time.Minute + grace + 1
	says("the limit was not confirmed by ")
	h.take("eth0")
	says("")
}

// TestWaitsByTheClockOfTheBoot: a wall clock that is set, by a day in either direction,
// neither ends the wait nor makes it longer.
func TestWaitsByTheClockOfTheBoot(t *testing.T) {
	for _, step := range []time.Duration{-24 * time.Hour, 0, 24 * time.Hour} {
		h, now := waiting(t)
		p, err := h.Waits("eth0")
		if err != nil {
			t.Fatal(err)
		}
		p.Until = p.Until.Add(step)
		if err := h.Await(*p); err != nil {
			t.Fatal(err)
		}
		*now += time.Minute + grace
		if p, err := h.Waits("eth0"); p == nil || err != nil {
			t.Errorf("stepped by %s: waits no longer: %v", step, err)
		}
		if err := h.free("eth0"); !errors.Is(err, ErrPending) {
			t.Errorf("stepped by %s: another one would be set: %v", step, err)
		}
		*now++
		if p, err := h.Waits("eth0"); p != nil || err != nil {
			t.Errorf("stepped by %s: still waits: %v", step, err)
		}
		if _, err := h.settle("eth0"); !errors.Is(err, ErrNoneWaits) {
			t.Errorf("stepped by %s: confirmed: %v", step, err)
		}
	}
}

// TestOneOfBoth: while another change holds the lock neither confirm nor revert takes the
// note; then the first one does, and the other finds nothing to do.
func TestOneOfBoth(t *testing.T) {
	for _, first := range []string{"confirm", "revert"} {
		h, _ := waiting(t)
		lock, err := instance.Acquire(h.Root + h.dir)
		if err != nil {
			t.Fatal(err)
		}
		_, confirm := h.settle("eth0")
		if revert := h.revertOnce("eth0", "7"); !errors.Is(confirm, instance.ErrRunning) || !errors.Is(revert, instance.ErrRunning) || h.confirmed("7") {
			t.Errorf("locked: %v, %v", confirm, revert)
		}
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
		if first == "revert" {
			if err := h.revertOnce("eth0", "7"); err != nil {
				t.Error(err)
			}
		}
		if _, err := h.settle("eth0"); (err == nil) != (first == "confirm") {
			t.Errorf("%s first: confirm says %v", first, err)
		}
		if err := h.RevertUnless("eth0", "7", time.Hour); err != nil {
			t.Errorf("%s first: revert says %v", first, err)
		}
	}
}

// TestStillConfirmed: a limit that could not be taken back is still there, and can be kept.
func TestStillConfirmed(t *testing.T) {
	h, _ := waiting(t)
	head, err := h.header("eth0", "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	j, err := h.engine.Adopt(change.Plan{Header: head, Steps: []change.Step{{Kind: change.File, Target: "/etc/x", New: change.FileText("x")}}})
	if err != nil {
		t.Fatal(err)
	}
	h.engine = carry.New(carry.Options{Disk: noRoom{h.disk}, Dir: h.dir, Boot: h.boot})
	if err := h.Await(Pending{Link: "eth0", ID: j.ID, End: h.clock()}); err != nil {
		t.Fatal(err)
	}
	if err := h.revertOnce("eth0", j.ID); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("revert says %v", err)
	}
	if _, err := h.settle("eth0"); err != nil {
		t.Errorf("confirm says %v", err)
	}
}

// noRoom is a disk on which nothing grows.
type noRoom struct{ carry.Disk }

func (d noRoom) Do(op carry.Op) error {
	if op.Kind == carry.OpAppend {
		return unix.ENOSPC
	}
	return d.Disk.Do(op)
}
