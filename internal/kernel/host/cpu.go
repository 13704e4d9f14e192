package host

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/core/advise"
)

func (h Host) cpu() (c advise.CPU) {
	stat, err := h.Files.Read("/proc/stat")
	c.StealShare = known(0.0, err)
	if err == nil {
		c.CPUs, c.StealShare = stealShare(stat)
	}
	c.RunQueue = known(h.loadPerCPU(c.CPUs))
	c.Pressure = known(h.pressure())
	return c
}

// stealShare reads "cpu user nice system idle iowait irq softirq steal ..." and counts
// the lines of single processors. It is a mean since boot: credits that ran out an
// hour ago show, a short shortage does not.
func stealShare(stat string) (cpus int, share advise.Known[float64]) {
	share.Why = "no cpu line in /proc/stat"
	for line := range strings.Lines(stat) {
		w := strings.Fields(line)
		switch {
		case len(w) >= 9 && w[0] == "cpu":
			var total, steal float64
			for i, s := range w[1:9] {
				n, _ := strconv.ParseFloat(s, 64)
				total += n
				if i == 7 {
					steal = n
				}
			}
			share = advise.Know(steal / max(total, 1))
		case len(w) > 1 && strings.HasPrefix(w[0], "cpu"):
			cpus++
		}
	}
	return cpus, share
}

func (h Host) loadPerCPU(cpus int) (float64, error) {
	text, err := h.Files.Read("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(text, " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0, fmt.Errorf("parse /proc/loadavg: %w", err)
	}
	return load / float64(max(cpus, 1)), nil
}

// pressure reads "some avg10=1.23 avg60=0.50 avg300=... total=...", in per cent.
func (h Host) pressure() (float64, error) {
	text, err := h.Files.Read("/proc/pressure/cpu")
	if err != nil {
		return 0, err
	}
	for _, w := range strings.Fields(text) {
		if v, ok := strings.CutPrefix(w, "avg60="); ok {
			p, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return 0, fmt.Errorf("parse /proc/pressure/cpu: %w", err)
			}
			return p / 100, nil
		}
	}
	return 0, fmt.Errorf("parse /proc/pressure/cpu: no avg60")
}
