package inspect

import (
	"fmt"

	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/loop/kernel/cpu"
)

// cpu reads a mean of the steal since boot: credits that ran out an hour ago show, a short
// shortage does not.
func (h Host) cpu() (c advise.CPU) {
	stat, err := h.Files.Read("/proc/stat")
	var n cpu.Counters
	if err == nil {
		n, err = cpu.Parse(stat)
	}
	c.CPUs, c.StealShare = n.CPUs, known(float64(n.Steal)/float64(max(n.Total, 1)), err)
	var load, tenS, minute float64
	err = h.scan("/proc/loadavg", "%f", &load)
	c.RunQueue = known(load/float64(max(n.CPUs, 1)), err)
	err = h.scan("/proc/pressure/cpu", "some avg10=%f avg60=%f", &tenS, &minute)
	c.Pressure = known(minute/100, err) // the file has per cent
	return c
}

// scan reads the first values of a file.
func (h Host) scan(file, format string, into ...any) error {
	text, err := h.Files.Read(file)
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(text, format, into...); err != nil {
		return fmt.Errorf("parse %s: %w", file, err)
	}
	return nil
}
