package bbr

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/enable"
	"github.com/congctl/congctl/internal/linux/cubiclt"
	"github.com/congctl/congctl/internal/linux/instance"
)

// CubicLT has h turn on cubic_lt. The unit at boot starts program, a path; noProgram says why there is none.
func (h *Host) CubicLT(program, noProgram string) {
	_, lacks := cubiclt.Fits()
	have, _ := cubiclt.Available()
	pinned, _ := cubiclt.Pinned(cubiclt.PinPath)
	h.LT = &enable.CubicLT{Name: cubiclt.Name, Pin: cubiclt.PinPath, Lacks: lacks, Taken: have && !pinned, Program: program, NoProgram: noProgram}
}

// lockWait is for a host enable or disable that runs at that moment.
const lockWait = 10 * time.Second

// CubicLTUntilReboot turns it on as the unit does at each boot, without a journal: that of Enable has what an undo takes back.
func CubicLTUntilReboot() (err error) {
	lock, err := instance.Acquire(carry.DefaultDir)
	for end := time.Now().Add(lockWait); errors.Is(err, instance.ErrRunning) && time.Now().Before(end); time.Sleep(lockWait / 100) {
		lock, err = instance.Acquire(carry.DefaultDir)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if _, gone := os.Stat(enable.CubicLTUnit); os.Getenv("INVOCATION_ID") != "" && errors.Is(gone, fs.ErrNotExist) {
		return nil // systemd started the unit, and host disable took it away since
	}
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
