package carry

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/change"
)

// letGo takes away what stands without a journal, as clear does; it must not be made again.
func (h *fakeHost) letGo(d Disk) error {
	p := onlyBack{h.live}
	e := New(Options{Disk: d, Boot: fmt.Sprint("boot", h.boots), Places: map[change.Kind]Place{change.Sysctl: p, change.Module: p}})
	if _, err := e.Clear("host", false, "asked"); err != nil && !errors.Is(err, ErrNothing) {
		return err
	}
	plan, err := h.plan(e, []change.Step{{Kind: change.File, Target: dropIn}, {Kind: change.Sysctl, Target: "cc", New: change.Text("cubic")}})
	if err != nil || len(plan.Steps) == 0 {
		return err
	}
	for i, s := range plan.Steps {
		plan.Steps[i].Old, plan.Steps[i].New = s.New, s.Old
	}
	j, err := e.Adopt(plan)
	if err != nil {
		return err
	}
	_, err = e.Undo(j, false, "asked")
	return err
}

// TestAdopt: what is adopted is taken away from wherever that was cut off, and never comes
// back meanwhile.
func TestAdopt(t *testing.T) {
	long(t)
	for _, l := range append(slices.Clone(losses), "process killed") {
		for n := 1; ; n++ {
			h := newFakeHost()
			h.disk.put(dropIn, change.FileText("cc=bbr\n"))
			h.boot()
			h.live["qdisc"] = "pfifo" // somebody else's
			err := h.letGo(&Counted{Disk: h.disk, N: n, Cut: powerCut})
			if err != nil {
				if !errors.Is(err, ErrPowerCut) {
					t.Fatalf("cut at %d, %s: %v", n, l, err)
				}
				if l != "process killed" {
					h.disk.cut(l)
					h.boot()
				}
				if err := h.letGo(h.disk); err != nil {
					t.Errorf("cut at %d, %s: %v", n, l, err)
				}
			}
			if open, e := h.engine(h.disk).Open("host"); e != nil || len(open) > 0 || h.live["cc"] != "cubic" || h.disk.live[dropIn] != nil {
				t.Errorf("cut at %d, %s: %d journals, cc %s, %v", n, l, len(open), h.live["cc"], e)
			}
			if err == nil {
				break
			}
		}
	}
}
