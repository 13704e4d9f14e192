package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/lab"
	"github.com/congctl/congctl/internal/app/lab/report"
	"github.com/congctl/congctl/internal/core/pop"
	kernelpop "github.com/congctl/congctl/internal/kernel/pop"
	"github.com/congctl/congctl/internal/kernel/vm"
)

// popMemoryMB: two Go programs and what is under way in the network.
const popMemoryMB = 1024

// worldPop is the name of this world in manifests.
const worldPop = "pop"

// popWorld shows kernel/vm and kernel/pop to the lab: a machine for each day.
type popWorld struct {
	*pop.Day
	file     report.Text
	policies map[string]kernelpop.Policy
	kernel   vm.Kernel
	manifest report.Manifest // but for policy and seed
}

var _ lab.DayWorld = (*popWorld)(nil)

func newPopWorld(name string, text []byte, policies []string) (w *popWorld, err error) {
	w = &popWorld{file: report.NewText(name, text), policies: map[string]kernelpop.Policy{}}
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

// opens finds what the day's machines boot.
func (p *labPlace) opens(ctx context.Context, w *popWorld) (err error) {
	w.manifest = report.Manifest{Format: report.Format, Scenario: w.file, World: worldPop}
	if w.manifest.Congctl, err = thisBinary(); err != nil {
		return err
	}
	w.kernel, err = p.boots(ctx, w.machine(lab.DayJob{}, nil), &w.manifest)
	return err
}

// manifestOf says what makes a run: the policy stands where other worlds name cells.
func (w *popWorld) manifestOf(r lab.DayRun) report.Manifest {
	m := w.manifest
	m.Cells = []string{r.Policy}
	m.Seeds.First, m.Seeds.Count, m.Seeds.Max = r.Seed, 1, 1
	return m
}

func (w *popWorld) machine(job lab.DayJob, payload []byte) vm.Machine {
	return vm.Machine{Kernel: w.kernel, Job: payload, Load: kernelpop.Modules(), CPU: job.CPU, MemoryMB: popMemoryMB, Wall: job.Limit}
}

func (w *popWorld) RunDay(ctx context.Context, job lab.DayJob) (archive []byte, facts lab.Facts, err error) {
	payload, err := json.Marshal(guestJob{Seed: job.Seed, Pop: &popJob{Name: w.file.Name, Text: w.file.Text, Policy: w.policies[job.Policy]}})
	if err != nil {
		return nil, facts, fmt.Errorf("encode job: %w", err)
	}
	m := w.machine(job, payload)
	m.Progress = func(line string) {
		if p, ok := pop.ParseProgress(line); ok {
			job.Progress(p)
		} else {
			job.Note(line)
		}
	}
	out, err := vm.Run(ctx, m)
	facts.Virtual, facts.CPU = out.Times.Ended, out.CPU
	return out.Report, facts, err
}

// pass lets the days pass and tells how far they are.
func (w *popWorld) pass(cmd *cobra.Command, days lab.Days, runs, kept []lab.DayRun) error {
	said := cmd.ErrOrStderr()
	fmt.Fprintln(said, w.words(len(runs)-len(kept), len(days.CPUs)))
	days.Meter = lab.NewDayMeter(w.Name, len(runs), said, isTerminal(said), width(said), time.Now)
	err := days.Run(cmd.Context(), runs, kept)
	days.Meter.Close()
	return err
}

// words tell what will be run.
func (w *popWorld) words(runs, cpus int) string {
	span := func(us uint64) time.Duration { return time.Duration(us) * time.Microsecond }
	text := fmt.Sprintf("%s: %d client networks, %s in windows of %s", w.Name, len(w.World(1).Networks), span(w.EndUs), span(w.WindowUs))
	if cfg, err := popConfig(w.Day, policyLoop); err == nil {
		text += fmt.Sprintf(", blocks of %s", cfg.Experiment.Block)
	}
	return fmt.Sprintf("%s; %d to run, %d at once", text, runs, min(runs, cpus))
}
