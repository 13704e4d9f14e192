package world

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/lab/scenario"

	"github.com/congctl/congctl/internal/lab/proof"
	"github.com/congctl/congctl/internal/linux/cubiclt"
	"github.com/congctl/congctl/internal/linux/loopback"
	"github.com/vishvananda/netlink"
)

// Job is a guest's task: each cell once, in this order.
type Job struct {
	Cells []scenario.Cell `json:"cells"`
	Seed  uint64          `json:"seed"`
}

// RunJob runs a job on a machine that is ours alone, and reports one outcome.Run for each
// cell as a line of JSON. A cell that fails has the error in its Run; the others continue.
// A line of progress is a cell's name, or how far its clock is, as a time.Duration.
func RunJob(job []byte, progress func(string)) ([]byte, error) {
	return runJob(job, progress, Options{World: "vm", Own: true})
}

func runJob(job []byte, progress func(string), opt Options) ([]byte, error) {
	var j Job
	if err := json.Unmarshal(job, &j); err != nil {
		return nil, fmt.Errorf("read job: %w", err)
	}
	release, err := provide(j.Cells)
	if err != nil {
		return nil, err
	}
	defer func() { _ = release() }() // the machine ends with its job
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

// provide registers what a cell's flow uses and no kernel has by itself.
func provide(cells []scenario.Cell) (release func() error, err error) {
	for i := range cells {
		if slices.ContainsFunc(cells[i].Flows, func(f scenario.Flow) bool { return f.Cong == cubiclt.Name }) {
			return cubiclt.Provide()
		}
	}
	return func() error { return nil }, nil
}

// Modules are the kernel modules that worlds need, where a kernel has them as modules.
func Modules() []string {
	return []string{
		"veth", "tcp_diag", "inet_diag", "tcp_bbr", "tcp_cubic", "tcp_dctcp", "tcp_vegas", "tcp_westwood",
		"sch_netem", "sch_fq", "sch_fq_codel", "sch_tbf", "sch_prio", "sch_ingress", "cls_matchall", "cls_bpf", "act_police",
	}
}

// ProofJob asks a machine that is all ours to make a congestion control its default, and
// then to run cells.
type ProofJob struct {
	Job
	Enable string `json:"enable"`
}

// RunProof reports a line of JSON with proof.Enabled, then what RunJob reports. Where the
// congestion control could not be enabled no cell is run.
func RunProof(job []byte, progress func(string)) ([]byte, error) {
	var j ProofJob
	if err := json.Unmarshal(job, &j); err != nil {
		return nil, fmt.Errorf("read job: %w", err)
	}
	e := proof.Enabled{Release: Release()}
	if err := enable(j.Enable, &e); err != nil {
		e.Error = err.Error()
	}
	var report bytes.Buffer
	if err := json.NewEncoder(&report).Encode(&e); err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	if e.Conn != j.Enable {
		return report.Bytes(), nil
	}
	runs, err := RunJob(job, progress)
	if err != nil {
		return nil, err
	}
	report.Write(runs)
	return report.Bytes(), nil
}

const (
	availableSysctl = "net.ipv4.tcp_available_congestion_control"
	defaultSysctl   = "net.ipv4.tcp_congestion_control"
)

// enable makes cong the default of the machine, reads which one a connection over the
// loopback runs, and restores the default.
func enable(cong string, e *proof.Enabled) (err error) {
	if e.Available, err = readSysctl(availableSysctl); err != nil {
		return err
	}
	if e.Before, err = readSysctl(defaultSysctl); err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(e.Available), cong) {
		return nil // the report says so
	}
	if err := apply([]Setting{{defaultSysctl, cong}}); err != nil {
		return err
	}
	defer func() {
		if back := apply([]Setting{{defaultSysctl, e.Before}}); err == nil {
			err = back
		}
	}()
	if e.Default, err = readSysctl(defaultSysctl); err != nil {
		return err
	}
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("set up loopback: %w", err)
	}
	conns, err := loopback.Connect()
	if len(conns) > 0 {
		e.Conn, e.Internals = conns[0].Cong, conns[0].PacingGain > 0
	}
	return err
}
