package carry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/change"
)

// trial is a random host with a random plan, and the slow oracle beside it: a target
// ends with what somebody else wrote last, else with what it had at first.
type trial struct {
	*rapid.T
	h       *fakeHost
	steps   []change.Step
	first   map[string]change.Value
	foreign map[string]change.Value
}

var anyText = rapid.StringMatching("[a-c]{0,3}")

func newTrial(t *rapid.T) *trial {
	r := &trial{T: t, first: map[string]change.Value{}, foreign: map[string]change.Value{}}
	r.h = &fakeHost{disk: newMemDisk("/etc", "/var"), live: memory{}, boots: 1}
	for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
		s := change.Step{Kind: change.File, Target: fmt.Sprint("/etc/f", i), New: change.FileText("ours" + anyText.Draw(t, "new"))}
		if rapid.Bool().Draw(t, "volatile") {
			s.Kind, s.Target, s.New = change.Sysctl, fmt.Sprint("key", i), change.Text(s.New.Text)
		}
		if rapid.Bool().Draw(t, "existed") {
			old := change.Text(anyText.Draw(t, "old"))
			if s.Kind == change.File {
				old.Mode = rapid.SampledFrom([]uint32{0o600, 0o644}).Draw(t, "mode")
			}
			r.set(s, old)
		} else if s.Kind == change.Sysctl {
			r.set(s, change.Text("boot"))
		}
		r.first[s.Target] = r.now(s)
		r.steps = append(r.steps, s)
	}
	return r
}

func (r *trial) now(s change.Step) change.Value {
	v, err := r.h.engine(r.h.disk).Read(s.Kind, s.Target)
	if err != nil {
		r.Fatal(err)
	}
	return v
}

func (r *trial) set(s change.Step, v change.Value) {
	if s.Kind == change.File {
		r.h.disk.put(s.Target, v)
	} else if err := r.h.live.Write(s.Target, v); err != nil {
		r.Fatal(err)
	}
}

// run runs a verb that is cut at some operation, or not at all.
func (r *trial) run(verb string, cut int, force bool) error {
	var disk Disk = r.h.disk
	if cut > 0 {
		disk = &Counted{Disk: disk, N: cut, Cut: powerCut}
	}
	e := r.h.engine(disk)
	if verb == "disable" {
		_, err := e.Clear("host", force, "asked")
		return err
	}
	_, err := e.Set("host", func() (change.Plan, error) { return r.h.plan(e, r.steps) }, nil)
	return err
}

// another has the next enable want other values.
func (r *trial) another() {
	for i := range r.steps {
		if rapid.Bool().Draw(r.T, "another") {
			r.steps[i].New.Text = "ours" + anyText.Draw(r.T, "new")
		}
	}
}

// disturb lets somebody else write some targets.
func (r *trial) disturb() {
	for _, s := range r.steps {
		if rapid.IntRange(0, 3).Draw(r.T, "disturb") > 0 {
			continue
		}
		v := change.Text("theirs" + anyText.Draw(r.T, "theirs"))
		if s.Kind == change.File {
			v = change.FileText(v.Text)
		}
		if s.Kind == change.File && rapid.Bool().Draw(r.T, "removed") {
			v = change.Absent
		}
		r.set(s, v)
		r.foreign[s.Target] = v
	}
}

// reboot sets volatile targets to their first values again.
func (r *trial) reboot() {
	r.h.disk.cut(rapid.SampledFrom(losses).Draw(r.T, "loss"))
	r.h.boots++
	for _, s := range r.steps {
		if s.Kind.Volatile() {
			r.set(s, r.first[s.Target])
			delete(r.foreign, s.Target)
		}
	}
}

// check compares with the oracle. By force somebody's value may go, too: what was there
// before the change comes back, and never our own.
func (r *trial) check(force bool) {
	for _, s := range r.steps {
		want, touched := r.foreign[s.Target]
		if !touched {
			want = r.first[s.Target]
		}
		got := r.now(s)
		if got != want && !(force && touched && !strings.HasPrefix(got.Text, "ours")) {
			r.Errorf("%s is %s, the oracle says %s (force %t)", s, change.Brief(got), change.Brief(want), force)
		}
	}
}

// TestAnyHistory: whatever is cut, disturbed, rebooted and repeated, at the end disable
// leaves each target as it was, or as somebody else wrote it.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newTrial(t)
		rebooted := false
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			r.another()
			verb := rapid.SampledFrom([]string{"enable", "enable", "disable"}).Draw(t, "verb")
			err := r.run(verb, rapid.IntRange(0, 60).Draw(t, "cut"), false)
			if errors.Is(err, ErrPowerCut) && rapid.Bool().Draw(t, "reboot") {
				r.reboot()
				rebooted = true
			}
			r.disturb()
		}
		force := !rebooted && rapid.Bool().Draw(t, "force")
		if err := r.run("disable", 0, force); errors.Is(err, ErrNothing) {
			force = false
		} else if err != nil {
			t.Fatalf("disable: %v", err)
		}
		r.check(force)
	})
}

// TestRefusal: one value that somebody changed is named and stays; force takes it back.
func TestRefusal(t *testing.T) {
	h := newFakeHost()
	off := h.text()
	if err := h.enable(h.disk); err != nil {
		t.Fatal(err)
	}
	h.live["cc"] = "reno"
	r, err := h.engine(h.disk).Clear("host", false, "asked")
	if err != nil || len(r.Refused) != 1 || r.Refused[0].Step.Target != "cc" || len(r.Restored) != len(wanted)-1 {
		t.Fatalf("report %+v, %v", r, err)
	}
	if want := `sysctl cc (it is "reno", not "bbr")`; r.Refused.String() != want {
		t.Errorf("refusal %s, want %s", r.Refused, want)
	}
	open, err := h.engine(h.disk).Open("host")
	if err != nil || len(open) != 1 || !slices.Equal(open[0].Refusals(), []int{1}) {
		t.Fatalf("the journal forgot the refusal: %v, %v", open, err)
	}
	if r, err := h.engine(h.disk).Clear("host", true, "asked"); err != nil || len(r.Restored) != 1 {
		t.Errorf("by force: %+v, %v", r, err)
	}
	if got := h.text(); got != off {
		t.Errorf("by force: the host is\n%s\nwant\n%s", got, off)
	}
}

// TestFailureTakesAllBack: a check that fails leaves the host as it was.
func TestFailureTakesAllBack(t *testing.T) {
	h := newFakeHost()
	off := h.text()
	e := h.engine(h.disk)
	sad := errors.New("the connection reports cubic")
	_, err := e.Set("host", func() (change.Plan, error) { return h.plan(e, wanted) }, func() error { return sad })
	if !errors.Is(err, sad) || !errors.Is(err, ErrUndone) {
		t.Errorf("error %v", err)
	}
	if got := h.text(); got != off {
		t.Errorf("the host is\n%s\nwant\n%s", got, off)
	}
	if open, err := e.Open("host"); err != nil || len(open) > 0 {
		t.Errorf("open: %v, %v", open, err)
	}
}

// TestBusyDirectory: a directory that somebody uses is left, and the undo ends.
func TestBusyDirectory(t *testing.T) {
	h := newFakeHost()
	if err := h.enable(h.disk); err != nil {
		t.Fatal(err)
	}
	h.disk.put(loadDir+"/other.conf", change.FileText("x\n"))
	r, err := h.engine(h.disk).Clear("host", false, "asked")
	if err != nil || len(r.Left) != 1 || r.Left[0].Step.Target != loadDir || len(r.Refused) > 0 {
		t.Errorf("report %+v, %v", r, err)
	}
	if open, err := h.engine(h.disk).Open("host"); err != nil || len(open) > 0 {
		t.Errorf("open: %v, %v", open, err)
	}
}
