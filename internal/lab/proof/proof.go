// Package proof says whether a kernel, booted in a machine, has shown that BBR can be
// turned on there and is worth it.
//
// It is no benchmark: one path with loss, one seed, two congestion controls. The lab has
// the numbers.
//
// Its trap: "available" proves little. A kernel may list BBR, take the sysctl, and still
// give a connection something else, so the connection itself is asked.
package proof

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/core/scenario"
)

// Cong is what is proved.
const Cong = "bbr"

// Loss of 2 % as the scenario sets it: where the published tables begin to differ plainly,
// and CUBIC still finishes in the time.
const text = `
name: verify-kernel
about: CUBIC and BBR on one path with 2 % loss, the same seed
arms: [cubic, bbr]
matrix:
  loss: [2%]
path:
  rate: 10mbit
  rtt: 40ms
  buffer: 1bdp
  loss_at: before
flows:
  - {size: 5MB, duration: 30s}
`

// Scenario that a machine is to run.
func Scenario() (*scenario.Scenario, error) { return scenario.Parse("verify-kernel.yml", []byte(text)) }

// Enabled is what came of making a congestion control the default: each step as it was
// read back, "" where it was not reached.
type Enabled struct {
	Release   string `json:"release"`   // uname -r
	Available string `json:"available"` // tcp_available_congestion_control
	Before    string `json:"before"`    // the default, before
	Default   string `json:"default"`   // read back after it was set
	Conn      string `json:"conn"`      // of a new connection, by inet_diag
	Internals bool   `json:"internals"` // inet_diag tells bandwidth and gains of it
	Error     string `json:"error,omitempty"`
}

// Step is one thing to be proved.
type Step struct {
	Step string `json:"step"`
	OK   bool   `json:"ok"`
	Saw  string `json:"saw"`
}

// Report is the verdict on one kernel.
type Report struct {
	Release string   `json:"release"`
	Proven  bool     `json:"proven"`
	Steps   []Step   `json:"steps"`
	Ratio   *float64 `json:"ratio"` // BBR's goodput divided by CUBIC's; null where they were not measured
}

// Judge says what a machine's facts prove. A step after one that failed is still told.
func Judge(e Enabled, s *scenario.Scenario, runs []outcome.Run) Report {
	r := Report{Release: e.Release, Proven: true}
	r.add("available", slices.Contains(strings.Fields(e.Available), Cong), e.Available)
	r.add("default", e.Default == Cong, e.Default)
	conn := e.Conn
	if e.Internals {
		conn += ", with its bandwidth and gains"
	}
	r.add("connection", e.Conn == Cong && e.Internals, conn)
	if e.Error != "" {
		r.add("without errors", false, e.Error)
	}
	r.race(s, runs)
	return r
}

func (r *Report) add(step string, ok bool, saw string) {
	if saw == "" {
		saw = "nothing"
	}
	r.Steps = append(r.Steps, Step{step, ok, saw})
	r.Proven = r.Proven && ok
}

// race adds whether both cells are worth a number, and whether BBR was the faster.
func (r *Report) race(s *scenario.Scenario, runs []outcome.Run) {
	var results []outcome.Result
	for i := range runs {
		for j := range s.Cells {
			if s.Cells[j].ID == runs[i].Cell {
				results = append(results, outcome.Judge(s, &s.Cells[j], &runs[i]))
			}
		}
	}
	sum := outcome.Summarise(s, results, outcome.Options{Paired: true})
	var faults, speeds []string
	for _, row := range sum.Rows {
		faults = append(faults, row.Reasons...)
		if row.Runs == 0 {
			faults = append(faults, row.Arm+" did not run")
		}
		if row.Goodput != nil {
			speeds = append(speeds, fmt.Sprintf("%s %.2f Mbit/s", row.Arm, row.Goodput.Median/1e6))
		}
		if row.Arm == Cong && row.Ratio != nil {
			r.Ratio = &row.Ratio.Median
		}
	}
	if len(faults) > 0 {
		r.add("valid runs", false, strings.Join(faults, "; "))
		return
	}
	r.add("valid runs", true, fmt.Sprintf("%d of %d, all gates hold", len(results), len(sum.Rows)))
	faster := len(sum.Winners) == 1 && sum.Winners[0].Arm == Cong
	saw := strings.Join(speeds, ", ")
	if r.Ratio != nil {
		saw += fmt.Sprintf(": %.1f times", *r.Ratio)
	}
	r.add("faster at 2 % loss", faster, saw)
}
