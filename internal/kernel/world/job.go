package world

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/congctl/congctl/internal/core/scenario"
)

// Job is what a guest is asked to run: each cell once, in this order.
type Job struct {
	Cells []scenario.Cell `json:"cells"`
	Seed  uint64          `json:"seed"`
}

// RunJob runs a job on a machine that is all ours, and reports one outcome.Run for each
// cell as a line of JSON. A cell that fails says so in its Run; the others go on. A line
// of progress is a cell's name, or how far its clock is, as a time.Duration.
func RunJob(job []byte, progress func(string)) ([]byte, error) {
	return runJob(job, progress, Options{World: "vm", Own: true})
}

func runJob(job []byte, progress func(string), opt Options) ([]byte, error) {
	var j Job
	if err := json.Unmarshal(job, &j); err != nil {
		return nil, fmt.Errorf("read job: %w", err)
	}
	var report bytes.Buffer
	lines := json.NewEncoder(&report)
	for i := range j.Cells {
		c := &j.Cells[i]
		progress(fmt.Sprintf("cell %d of %d: %s", i+1, len(j.Cells), c.ID))
		opt.Progress = func(at time.Duration) { progress(at.Truncate(time.Second).String()) }
		run, _ := Run(context.Background(), c, j.Seed, opt) // the error is in run
		if err := lines.Encode(&run); err != nil {
			return nil, fmt.Errorf("write report: %w", err)
		}
	}
	return report.Bytes(), nil
}

// Modules are the kernel modules that worlds need, where a kernel has them as modules.
func Modules() []string {
	return []string{
		"veth", "tcp_diag", "inet_diag", "tcp_bbr", "tcp_cubic", "tcp_dctcp", "tcp_vegas", "tcp_westwood",
		"sch_netem", "sch_fq", "sch_fq_codel", "sch_tbf", "sch_ingress", "cls_matchall", "cls_bpf", "act_police",
	}
}
