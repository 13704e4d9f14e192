//go:build !small

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/lab"
	"github.com/congctl/congctl/internal/lab/kernel/vm"
	"github.com/congctl/congctl/internal/lab/report"
	"github.com/congctl/congctl/internal/popday/kernel/popworld"
	"github.com/congctl/congctl/internal/popday/pop"
)

// popMemoryMB holds two Go programs and the network's packets in flight.
const popMemoryMB = 1024

// worldPop is the name of this world in manifests.
const worldPop = "pop"

// popWorld adapts lab/kernel/vm and popday/kernel/popworld to the lab: each day has its own machine.
type popWorld struct {
	*pop.Day
	file     report.Text
	policies map[string]popworld.Policy
	kernel   vm.Kernel
	manifest report.Manifest // but for policy and seed
}

var _ lab.DayWorld = (*popWorld)(nil)

func newPopWorld(name string, text []byte, policies []string) (w *popWorld, err error) {
	w = &popWorld{file: report.NewText(name, text), policies: map[string]popworld.Policy{}}
	if w.Day, err = pop.Parse(name, text); err != nil {
		return nil, err
	}
	for _, policy := range policies {
		if w.policies[policy], err = popPolicy(policy, w.Day); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// opens finds what the day's machines boot with.
func (p *labPlace) opens(ctx context.Context, w *popWorld) (err error) {
	w.manifest = report.Manifest{Format: report.Format, Scenario: w.file, World: worldPop}
	if w.manifest.Congctl, err = report.ThisBinary(version); err != nil {
		return err
	}
	w.kernel, err = p.boots(ctx, w.machine(lab.DayJob{}, nil), &w.manifest)
	return err
}

// manifestOf describes a run: the policy stands where other worlds name cells.
func (w *popWorld) manifestOf(r lab.DayRun) report.Manifest {
	m := w.manifest
	m.Cells = []string{r.Policy}
	m.Seeds.First, m.Seeds.Count, m.Seeds.Max = r.Seed, 1, 1
	return m
}

func (w *popWorld) machine(job lab.DayJob, payload []byte) vm.Machine {
	return vm.Machine{Kernel: w.kernel, Job: payload, Load: popworld.Modules(), CPU: job.CPU, MemoryMB: popMemoryMB, Wall: job.Limit}
}

func (w *popWorld) RunDay(ctx context.Context, job lab.DayJob) (archive []byte, facts lab.Facts, err error) {
	payload, err := json.Marshal(popworld.Job{Seed: job.Seed, Pop: popworld.JobDay{Name: w.file.Name, Text: w.file.Text, Policy: w.policies[job.Policy]}})
	if err != nil {
		return nil, facts, fmt.Errorf("encode job: %w", err)
	}
	m := w.machine(job, payload)
	m.Progress = func(line string) {
		if p, ok := pop.ParseProgress(line); ok {
			job.Progress(lab.Progress{At: p.At, End: p.End, Selected: p.Selected})
		} else {
			job.Note(line)
		}
	}
	out, err := vm.Run(ctx, m)
	facts.Virtual, facts.CPU = out.Times.Ended, out.CPU
	return out.Report, facts, err
}

// pass runs the days and reports their progress.
func (w *popWorld) pass(cmd *cobra.Command, days lab.Days, runs, kept []lab.DayRun) error {
	said := cmd.ErrOrStderr()
	fmt.Fprintln(said, w.words(len(runs)-len(kept), len(days.CPUs)))
	days.Meter = lab.NewDayMeter(len(runs), raw(said), isTerminal(said), width(said), time.Now)
	err := days.Run(cmd.Context(), runs, kept)
	days.Meter.Close()
	return err
}

// words says what will be run.
func (w *popWorld) words(runs, cpus int) string {
	span := func(us uint64) string {
		return strings.TrimSuffix((time.Duration(us) * time.Microsecond).String(), "0s")
	}
	networks := slices.DeleteFunc(w.World(1).Networks, func(n pop.Network) bool { return n.Theirs })
	text := fmt.Sprintf("%s: %d client networks, %s in windows of %s", w.Name, len(networks), span(w.EndUs), span(w.WindowUs))
	return fmt.Sprintf("%s; %d machines, %d at once", text, runs, min(runs, cpus))
}
