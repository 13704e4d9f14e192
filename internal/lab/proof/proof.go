// Package proof judges whether a kernel, booted in a machine, has shown that BBR can be turned on there
// and is worth it.
//
// It is not a benchmark: one path with loss, one seed, two congestion controls. The lab has the numbers.
//
// Its trap: "available" proves little. A kernel may list BBR, take the sysctl, and still give a
// connection something else, so the connection itself is queried.
package proof

import (
	"cmp"
	_ "embed" // the scenario
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// Cong is the congestion control to prove.
const Cong = "bbr"

//go:embed verify-kernel.yml
var text []byte

// Scenario returns what a machine must run.
func Scenario() (*scenario.Scenario, error) { return scenario.Parse("verify-kernel.yml", text) }

// Enabled is what came of making a congestion control the default: each step as read back, "" if it was
// not reached.
type Enabled struct {
	Release   string `json:"release"`   // uname -r
	Available string `json:"available"` // tcp_available_congestion_control
	Before    string `json:"before"`    // the default, before
	Default   string `json:"default"`   // read back after the write
	Conn      string `json:"conn"`      // of a new connection, as the kernel says
	Internals bool   `json:"internals"` // the kernel shows its bandwidth and gains
	Error     string `json:"error,omitempty"`
}

// Step is one step to prove.
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
	Ratio   *float64 `json:"ratio"` // BBR's goodput divided by CUBIC's; null if they were not measured
}

// Judge returns what a machine's facts prove. It reports the steps after a failed one, too.
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
	r.Steps = append(r.Steps, Step{step, ok, cmp.Or(saw, "nothing")})
	r.Proven = r.Proven && ok
}

// race adds whether both cells are valid, and whether BBR was faster.
func (r *Report) race(s *scenario.Scenario, runs []outcome.Run) {
	var results []outcome.Result
	for i := range runs {
		if c := s.Cell(runs[i].Cell); c != nil {
			results = append(results, outcome.Judge(s, c, &runs[i]))
		}
	}
	sum := outcome.Summarise(s, results, true)
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

// Table writes the report for people.
func (r *Report) Table(w io.Writer) error {
	var rows [][]string
	for _, s := range r.Steps {
		verdict := "ok"
		if !s.OK {
			verdict = "failed"
		}
		rows = append(rows, []string{s.Step, verdict, s.Saw})
	}
	if err := answer.Table(w, "STEP VERDICT SAW", rows); err != nil {
		return err
	}
	verdict := "BBR can be turned on, and is faster than CUBIC when packets are lost"
	if !r.Proven {
		verdict = "not proven"
	}
	_, err := fmt.Fprintf(w, "\nLinux %s: %s.\n", r.Release, verdict)
	return err
}
