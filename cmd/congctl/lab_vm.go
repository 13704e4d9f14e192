package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/app/lab"
	"github.com/congctl/congctl/internal/app/lab/report"
	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/core/scenario"
	"github.com/congctl/congctl/internal/kernel/vm"
	"github.com/congctl/congctl/internal/kernel/world"
)

// vmWorld shows kernel/vm to the lab: a machine for each run.
type vmWorld struct{ kernel vm.Kernel }

var _ lab.World = vmWorld{}

func (p *labPlace) openVM(ctx context.Context, m *report.Manifest) (site labSite, err error) {
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return site, fmt.Errorf("count CPUs: %w", err)
	}
	if site.cpus, err = p.slots(own.Count(), "a machine needs a CPU to itself"); err != nil {
		return site, err
	}
	w := vmWorld{}
	version, options, err := vm.Emulator(ctx, w.machine(lab.Job{}, nil))
	if err != nil {
		return site, err
	}
	if w.kernel, err = vm.Find(ctx, vm.Want{Image: p.image, Modules: p.modules, Cache: p.cache, Fetch: !p.noFetch}); err != nil {
		return site, err
	}
	sum, err := hashOf(w.kernel.Image)
	m.QEMU = &report.QEMU{Version: version, Options: anywhere(options)}
	m.Kernel = report.Kernel{Release: w.kernel.Release, SHA256: sum, Source: filepath.Base(w.kernel.Image)}
	site.world = w
	return site, err
}

// anywhere leaves the folders out of options that are files.
func anywhere(options []string) (out []string) {
	for _, o := range options {
		if strings.HasPrefix(o, "/") {
			o = filepath.Base(o)
		}
		out = append(out, o)
	}
	return out
}

func (w vmWorld) machine(job lab.Job, payload []byte) vm.Machine {
	return vm.Machine{Kernel: w.kernel, Job: payload, Load: world.Modules(), CPU: job.CPU, Wall: job.Limit}
}

func (w vmWorld) Run(ctx context.Context, job lab.Job) (run outcome.Run, facts lab.Facts, err error) {
	payload, err := json.Marshal(world.Job{Cells: []scenario.Cell{*job.Cell}, Seed: job.Seed})
	if err != nil {
		return run, facts, fmt.Errorf("encode job: %w", err)
	}
	m := w.machine(job, payload)
	m.Progress = func(line string) {
		if at, err := time.ParseDuration(line); err == nil {
			job.Progress(at)
		}
	}
	out, err := vm.Run(ctx, m)
	facts.Virtual = out.Times.Ended
	if err != nil {
		return run, facts, err
	}
	if err := json.Unmarshal(out.Report, &run); err != nil {
		return run, facts, fmt.Errorf("decode the guest's report: %w", err)
	}
	run.World = worldVM
	return run, facts, nil
}
