//go:build !small

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/lab"
	"github.com/congctl/congctl/internal/popday/kernel/popworld"
	"github.com/congctl/congctl/scenarios"
)

// popRun holds the flags of `lab pop`.
type popRun struct {
	global   *global
	place    labPlace
	policies []string
	seed     uint64
	seeds    int
	out      string
	resume   bool
	cpu      int
	limit    time.Duration
	length   string
}

func newLabPop(g *global) *cobra.Command {
	p := &popRun{global: g}
	cmd := &cobra.Command{
		Use:   "pop NAME|FILE.yml",
		Short: "Run a day of a point of presence under one policy or several",
		Long: `pop runs a day of a point of presence in a machine: an edge that serves HTTP,
client networks with a path each, requests on a seeded schedule, and, where the
policy calls for it, congctl itself beside the server. The folder gets every
response, congctl's store and the counters; docs/format/pop.md explains them.

Several policies, or seeds, run side by side, each in a machine and a folder of its
own. A finished run is kept at once. After an interruption, run the same command with
--resume to continue.

Exit codes: 0 every day ran; 1 some did not; 2 bad input, or nothing could be run;
130 interrupted.`,
		Example: `  congctl lab pop demo --policy loop --seed 1 --out demo-loop
  congctl lab pop demo --policy cubic,bbr,loop --seeds 2 --out demo`,
		ValidArgsFunction: shippedOr(scenarios.Days),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&p.policies, "policy", []string{policyLoop}, "one or more of "+strings.Join(policies, ", "))
	complete(cmd, "policy", policies)
	f.Uint64Var(&p.seed, "seed", 1, "first seed of the day and of the machine")
	f.IntVar(&p.seeds, "seeds", 1, "number of seeds, counted from the first")
	pathVar(f, &p.out, "out", "", "", "folder for the results (default NAME-POLICY-SEED.pop, NAME.pop for several runs)")
	f.BoolVar(&p.resume, "resume", false, "keep the runs that the folder has")
	f.StringVar(&p.length, "length", "", "end the day early, after 20m for example")
	f.IntVar(&p.place.jobs, "cpus", 0, "machines at once (default and maximum: one for each CPU)")
	f.IntVar(&p.cpu, "cpu", 0, "the first machine's CPU, counted from 0 among those that this process may use")
	f.DurationVar(&p.limit, "limit", defaultLimit, "wall time after which a machine counts as hung and is ended")
	p.place.kernelFlags(f)
	f.StringVar(&p.place.world, "world", worldVM, "vm (QEMU), uml (the same, faster) or auto")
	complete(cmd, "world", []string{worldVM, worldUML, worldAuto})
	return cmd
}

func (p *popRun) run(cmd *cobra.Command, args []string) error {
	runs, err := p.runs()
	if err != nil {
		return usage(err)
	}
	d, err := p.day(args[0])
	if err != nil {
		return usage(err)
	}
	if p.out == "" {
		p.out = d.Name + ".pop"
		if len(runs) == 1 {
			p.out = d.Name + "-" + runs[0].String() + ".pop"
		}
	}
	cpus, err := p.cpus(len(runs))
	if err != nil {
		return usage(err)
	}
	if err := p.place.opens(cmd.Context(), d); err != nil {
		return usage(err)
	}
	folder, kept, err := lab.OpenDays(p.out, runs, d.manifestOf, p.resume)
	if errors.Is(err, lab.ErrTaken) {
		return &coded{exitUsage, again(cmd, args), err}
	} else if err != nil {
		return usage(err)
	}
	days := lab.Days{World: d, CPUs: cpus, Limit: p.limit, Now: time.Now,
		Keep: func(r lab.DayRun, archive []byte) error {
			return folder.Keep(r, func(dir string) error { return popworld.Unpack(dir, archive) })
		}}
	switch err := d.pass(cmd, days, runs, kept); {
	case cmd.Context().Err() != nil:
		return &coded{exitInterrupted, again(cmd, args), errors.New("interrupted: finished days are kept")}
	case err != nil:
		return failed(again(cmd, args), err)
	}
	r, err := reportDay(cmd.Context(), p.out)
	if err != nil {
		return err
	}
	return p.global.print(cmd, r, func(w io.Writer) error { return sayDay(w, p.out, r) })
}

func (p *popRun) runs() ([]lab.DayRun, error) {
	switch {
	case p.seed == 0:
		return nil, errors.New("--seed 0: use 1 or more")
	case p.seeds < 1:
		return nil, fmt.Errorf("--seeds %d: use 1 or more", p.seeds)
	case p.limit <= 0:
		return nil, fmt.Errorf("--limit %s: use more than 0s", p.limit)
	case p.cpu < 0:
		return nil, fmt.Errorf("--cpu %d: use 0 or more", p.cpu)
	case len(p.policies) == 0:
		return nil, errors.New("--policy: name one or more of " + strings.Join(policies, ", "))
	}
	for i, name := range p.policies {
		if slices.Contains(p.policies[:i], name) {
			return nil, fmt.Errorf("--policy %s: twice", name)
		}
	}
	return lab.DayRuns(p.policies, p.seed, p.seeds), nil
}

// cpus returns the CPUs for machines; the flag sets the first.
func (p *popRun) cpus(runs int) ([]int, error) {
	cpus, err := p.place.ownCPUs("--cpus")
	if err != nil {
		return nil, err
	}
	if cpus, err = p.place.inMemory(cpus[:min(len(cpus), runs)], popMemoryMB); err != nil {
		return nil, err
	}
	for i := range cpus {
		cpus[i] += p.cpu
	}
	return cpus, nil
}

// day reads the day and makes the policies that the runs need.
func (p *popRun) day(arg string) (*popWorld, error) {
	name, text, err := scenarios.Days.Read(arg)
	if err != nil {
		return nil, err
	}
	if p.length != "" {
		if d, err := time.ParseDuration(p.length); err != nil || d <= 0 {
			return nil, fmt.Errorf("--length %q: write a time with its unit, as 20m or 4h", p.length)
		}
		text = append(text, "\n# --length\nend: "+p.length+"\n"...)
	}
	return newPopWorld(name, text, p.policies)
}
