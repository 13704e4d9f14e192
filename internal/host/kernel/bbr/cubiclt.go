package bbr

import (
	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/enable"
	"github.com/congctl/congctl/internal/linux/cubiclt"
)

// CubicLT has h turn on cubic_lt. The unit at boot starts program, a path; noProgram says why there is none.
func (h *Host) CubicLT(program, noProgram string) {
	_, lacks := cubiclt.Fits()
	have, _ := cubiclt.Available()
	pinned, _ := cubiclt.Pinned(cubiclt.PinPath)
	h.LT = &enable.CubicLT{Name: cubiclt.Name, Pin: cubiclt.PinPath, Lacks: lacks, Taken: have && !pinned, Program: program, NoProgram: noProgram}
}

// CubicLTUntilReboot turns it on as the unit does at each boot, without a journal: that of Enable has what an undo takes back.
func CubicLTUntilReboot() error {
	pinned, err := cubiclt.Pinned(cubiclt.PinPath)
	if err == nil && !pinned {
		err = cubiclt.Pin(cubiclt.PinPath)
	}
	if err != nil {
		return err
	}
	return carry.Sysctls{Root: "/"}.Write(advise.KeyCong, change.Text(cubiclt.Name))
}

// pins is the place of programs that are pinned congestion controls.
type pins struct{}

func (pins) Read(target string) (change.Value, error) {
	have, err := cubiclt.Pinned(target)
	if err != nil || !have {
		return change.Absent, err
	}
	return change.Text("pinned"), nil
}

func (pins) Write(target string, v change.Value) error {
	if v.Present {
		return cubiclt.Pin(target)
	}
	return cubiclt.Unpin(target)
}
