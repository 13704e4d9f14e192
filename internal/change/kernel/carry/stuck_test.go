package carry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
)

// stuck is a host on which some targets can be read and not written.
type stuck struct {
	*fakeHost
	targets []string
}

func (s stuck) engine(d Disk) *Engine {
	p := stuckPlace{s.live, s.targets}
	return New(Options{Disk: stuckDisk{d, s.targets}, Boot: fmt.Sprint("boot", s.boots),
		Places: map[change.Kind]Place{change.Sysctl: p, change.Module: p}})
}

type stuckPlace struct {
	memory
	targets []string
}

func (p stuckPlace) Write(target string, v change.Value) error {
	if slices.Contains(p.targets, target) {
		return unix.EACCES
	}
	return p.memory.Write(target, v)
}

type stuckDisk struct {
	Disk
	targets []string
}

func (d stuckDisk) Do(op Op) error {
	if op.Kind != OpSync && (slices.Contains(d.targets, op.Path) || slices.Contains(d.targets, op.To)) {
		return unix.EROFS
	}
	return d.Disk.Do(op)
}

func (s stuck) disable(d Disk) (Report, error) {
	return s.engine(d).Clear("host", false, "asked")
}

// off tells which targets do not have their old values.
func off(h, before *fakeHost) (list []string) {
	for _, s := range wanted {
		now, _ := h.engine(h.disk).Read(s.Kind, s.Target)
		old, _ := before.engine(before.disk).Read(s.Kind, s.Target)
		if now != old {
			list = append(list, s.Target)
		}
	}
	slices.Sort(list)
	return list
}

// kept are the targets that cannot come back while some are stuck: those themselves, and
// the directory that a stuck file lies in.
func kept(targets []string) []string {
	k := map[string]bool{}
	for _, t := range targets {
		k[t] = true
		if strings.HasPrefix(t, loadDir+"/") {
			k[loadDir] = true
		}
	}
	return slices.Sorted(maps.Keys(k))
}

// TestStuck: a step, or two, that cannot be taken back hold up no other, are named with
// their old values and the way there, and the journal stays for them. Cut anywhere in
// between, on a disk that loses what it may, it ends the same.
func TestStuck(t *testing.T) {
	long(t)
	for i := range wanted {
		for k := i; k < len(wanted); k++ {
			targets := []string{wanted[i].Target, wanted[k].Target}
			for at, l := range append(slices.Clone(losses), "process killed") {
				n, step := 1, 1
				if i != k { // a seventh of the cuts of each pair: all together still meet each pair at each kind of operation
					n, step = 1+(i+k+at)%7, 7
				}
				for ; stuckAt(t, targets, n, l); n += step {
				}
			}
		}
	}
}

// stuckAt reports whether there was an n-th operation to cut.
func stuckAt(t *testing.T, targets []string, n int, l loss) bool {
	t.Helper()
	h, before := newFakeHost(), newFakeHost()
	if err := h.enable(h.disk); err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("%v stuck, cut at %d, %s", targets, n, l)
	s := stuck{h, targets}
	_, err := s.disable(&Counted{Disk: h.disk, N: n, Cut: powerCut})
	cut := errors.Is(err, ErrPowerCut)
	if cut && l != "process killed" {
		h.disk.cut(l)
		h.boot()
	}
	r, err := s.disable(h.disk)
	if len(off(h, before)) > 0 { // after a reboot, stuck live values may be as they were
		s.failed(t, at, r, err)
	}
	if got := off(h, before); slices.ContainsFunc(got, func(x string) bool { return !slices.Contains(kept(targets), x) }) {
		t.Errorf("%s: %v are not as before", at, got)
	}
	if err := h.disable(h.disk); err != nil && !errors.Is(err, ErrNothing) {
		t.Errorf("%s: when they can be written again: %v", at, err)
	}
	if got := off(h, before); len(got) > 0 {
		t.Errorf("%s: when they can be written again, %v are not as before", at, got)
	}
	return cut
}

// failed checks what an undo says of what it could not restore.
func (s stuck) failed(t *testing.T, at string, r Report, err error) {
	t.Helper()
	if err == nil || len(r.Failed) == 0 {
		t.Errorf("%s: %v, failed %v", at, err, r.Failed)
		return
	}
	for _, f := range r.Failed {
		if !slices.Contains(kept(s.targets), f.Step.Target) || !strings.Contains(err.Error(), f.Step.Command(f.Step.Old)) {
			t.Errorf("%s: %s is reported: %v", at, f.Step, err)
		}
	}
	if open, err := s.engine(s.disk).Open("host"); err != nil || len(open) != 1 {
		t.Errorf("%s: journals %v, %v", at, open, err)
	}
}

// TestStuckSays shows the words.
func TestStuckSays(t *testing.T) {
	h := newFakeHost()
	if err := h.enable(h.disk); err != nil {
		t.Fatal(err)
	}
	_, err := stuck{h, []string{"cc", loadDir + "/bbr.conf"}}.disable(h.disk)
	const want = `not restored: file /etc/modules-load.d/bbr.conf: read-only file system (it was absent; by hand: rm /etc/modules-load.d/bbr.conf)
not restored: dir /etc/modules-load.d: file /etc/modules-load.d/bbr.conf was not restored (it was absent; by hand: rmdir /etc/modules-load.d)
not restored: sysctl cc: permission denied (it was "cubic"; by hand: sysctl -w cc=cubic)`
	if err == nil || err.Error() != want {
		t.Errorf("it says\n%v\nwant\n%s", err, want)
	}
}

// TestStuckEnable: where enable fails and cannot take all back, it takes the others back.
func TestStuckEnable(t *testing.T) {
	h, before := newFakeHost(), newFakeHost()
	e := h.engine(h.disk)
	_, err := e.Set("host", func() (change.Plan, error) { return h.plan(e, wanted) }, func() error {
		e.places[change.Sysctl] = stuckPlace{h.live, []string{"cc"}}
		return errors.New("the connection reports cubic")
	})
	if got := off(h, before); !slices.Equal(got, []string{"cc"}) {
		t.Errorf("not as before: %v (%v)", got, err)
	}
	if err == nil || !strings.Contains(err.Error(), "reports cubic") || !strings.Contains(err.Error(), "sysctl -w cc=cubic") || errors.Is(err, ErrUndone) {
		t.Errorf("error %v", err)
	}
}

type fullDisk struct{ Disk }

func (d fullDisk) Do(op Op) error {
	if op.Kind == OpAppend {
		return unix.ENOSPC
	}
	return d.Disk.Do(op)
}

// TestUndoWithoutJournal: what cannot be announced is not done, and all of it is named.
func TestUndoWithoutJournal(t *testing.T) {
	h := newFakeHost()
	if err := h.enable(h.disk); err != nil {
		t.Fatal(err)
	}
	on := h.text()
	r, err := h.engine(fullDisk{h.disk}).Clear("host", false, "asked")
	if !errors.Is(err, unix.ENOSPC) || len(r.Failed) != len(wanted) || !strings.Contains(err.Error(), "by hand: sysctl -w cc=cubic") {
		t.Errorf("%v, failed %v", err, r.Failed)
	}
	if h.text() != on {
		t.Errorf("the host is\n%s\nwant\n%s", h.text(), on)
	}
	if err := h.disable(h.disk); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
