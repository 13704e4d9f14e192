//go:build !small

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/lab"
	"github.com/congctl/congctl/internal/lab/kernel/vm"
	"github.com/congctl/congctl/internal/lab/kernel/world"
	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/report"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// vmWorld adapts lab/kernel/vm to the lab: each run has its own machine.
type vmWorld struct {
	kernel vm.Kernel
	name   string
}

var _ lab.World = vmWorld{}

func (p *labPlace) openVM(ctx context.Context, m *report.Manifest) (site labSite, err error) {
	if site.cpus, err = p.ownCPUs("--jobs"); err != nil {
		return site, err
	}
	w := vmWorld{}
	w.kernel, err = p.boots(ctx, w.machine(lab.Job{}, nil), m)
	w.name = m.World
	site.world = w
	return site, err
}

// ownCPUs numbers the CPUs for machines, as many as the flag says.
func (p *labPlace) ownCPUs(flag string) ([]int, error) {
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return nil, fmt.Errorf("count CPUs: %w", err)
	}
	return p.slots(flag, own.Count(), "a machine needs a CPU to itself")
}

// bootsQEMU is boots for QEMU and a stock kernel.
func (p *labPlace) bootsQEMU(ctx context.Context, probe vm.Machine, m *report.Manifest) (k vm.Kernel, err error) {
	version, options, err := vm.Emulator(ctx, probe)
	if err != nil {
		return k, err
	}
	if k, err = vm.Find(ctx, vm.Want{Image: p.image, Modules: p.modules, Cache: p.cache, Fetch: !p.noFetch}); err != nil {
		return k, err
	}
	sum, err := report.HashFile(k.Image)
	m.QEMU = &report.QEMU{Version: version, Options: anywhere(options)}
	m.Kernel = report.Kernel{Release: k.Release, SHA256: sum, Source: filepath.Base(k.Image)}
	return k, err
}

// anywhere drops the folders from options that name files.
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
	run.World = w.name
	return run, facts, nil
}

// inMemory drops the machines that do not fit in this host's memory: fewer at once take
// longer, but a machine that the kernel kills for memory is lost.
func (p *labPlace) inMemory(cpus []int, memoryMB int) ([]int, error) {
	fit, err := vm.Fit(memoryMB)
	switch {
	case err != nil || fit >= len(cpus):
		return cpus, err
	case fit == 0 || p.jobs > 0:
		return nil, fmt.Errorf("memory: %d machines of %d MB at once, but there is room for %d: free some memory, or use fewer with --cpus", len(cpus), memoryMB, fit)
	}
	return cpus[:fit], nil
}
