package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/core/pop"
	"github.com/congctl/congctl/internal/kernel/vm"
	"github.com/congctl/congctl/internal/kernel/world"
	days "github.com/congctl/congctl/scenarios/pop"
)

// popRun is `lab pop` with its flags.
type popRun struct {
	place  labPlace
	policy string
	seed   uint64
	out    string
	cpu    int
	limit  time.Duration
	length string
}

// popMemoryMB: two Go programs and what is under way in the network.
const popMemoryMB = 1024

func newLabPop(*global) *cobra.Command {
	p := &popRun{}
	cmd := &cobra.Command{
		Use:   "pop NAME|FILE.yml",
		Short: "Run a day of a point of presence under one policy",
		Long: `pop runs a day of a point of presence in one machine: an edge that serves HTTP,
client networks with a path each, requests by a seeded schedule, and, where the
policy wants it, congctl itself beside the server. The folder gets every response,
congctl's store and the counters; docs/format/pop.md explains them.`,
		Example: "  congctl lab pop demo --policy loop --seed 1 --out demo-loop",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&p.policy, "policy", policyLoop, strings.Join(policies, ", "))
	f.Uint64Var(&p.seed, "seed", 1, "seed of the day and of the machine")
	f.StringVar(&p.out, "out", "", "folder for the results (default NAME-POLICY-SEED.pop)")
	f.StringVar(&p.length, "length", "", "end the day earlier, as in 20m")
	f.IntVar(&p.cpu, "cpu", 0, "which of the CPUs that this process may use the machine gets")
	f.DurationVar(&p.limit, "limit", defaultLimit, "wall time after which the machine is ended as hung")
	f.StringVar(&p.place.image, "kernel", "", "bzImage to boot (default this host's, else one from the distribution)")
	f.StringVar(&p.place.modules, "modules", "", "folder with that kernel's modules, lib/modules/RELEASE")
	f.StringVar(&p.place.cache, "cache", "", "folder for fetched kernels (default congctl/kernels in the user's cache)")
	f.BoolVar(&p.place.noFetch, "no-fetch", false, "do not download a kernel where none is found")
	return cmd
}

func (p *popRun) run(cmd *cobra.Command, arg string) error {
	if p.seed == 0 {
		return usage(errors.New("--seed 0: use 1 or more"))
	}
	m, err := p.machine(cmd.Context(), arg)
	if err != nil {
		return usage(err)
	}
	m.Progress = func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }
	out, err := vm.Run(cmd.Context(), m)
	if err != nil {
		return err
	}
	if err := unpackDay(p.out, out.Report); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s of the machine's clock in %s, %s of CPU\n", p.out,
		out.Times.Ended.Round(time.Second), out.Wall.Round(time.Second), out.CPU.Round(time.Second))
	return nil
}

// machine is all that there is to boot.
func (p *popRun) machine(ctx context.Context, arg string) (m vm.Machine, err error) {
	name, text, err := dayText(arg)
	if err != nil {
		return m, err
	}
	if p.length != "" {
		text = append(text, "\n# --length\nend: "+p.length+"\n"...)
	}
	d, err := pop.Parse(name, text)
	if err != nil {
		return m, err
	}
	job := popJob{Name: name, Text: string(text)}
	if job.Policy, err = popPolicy(p.policy, d); err != nil {
		return m, err
	}
	if p.out == "" {
		p.out = fmt.Sprintf("%s-%s-%d.pop", d.Name, p.policy, p.seed)
	}
	if _, err := os.Stat(p.out); !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("--out %s: there already (%w); name another folder", p.out, errors.Join(err, fs.ErrExist))
	}
	m = vm.Machine{Load: world.Modules(), CPU: p.cpu, MemoryMB: popMemoryMB, Wall: p.limit}
	if m.Job, err = json.Marshal(guestJob{p.seed, &job}); err != nil {
		return m, fmt.Errorf("encode job: %w", err)
	}
	if _, _, err = vm.Emulator(ctx, m); err != nil {
		return m, err
	}
	m.Kernel, err = vm.Find(ctx, vm.Want{Image: p.place.image, Modules: p.place.modules, Cache: p.place.cache, Fetch: !p.place.noFetch})
	return m, err
}

// dayText finds a day: a shipped one by name, any other by its file.
func dayText(arg string) (name string, text []byte, err error) {
	if !strings.ContainsAny(arg, "/.") {
		text, ok := days.Text(arg)
		if !ok {
			return "", nil, fmt.Errorf("no day %q: there are %s; a file of your own needs its ending or folder", arg, strings.Join(days.Names(), ", "))
		}
		return arg + ".yml", text, nil
	}
	if text, err = os.ReadFile(arg); err != nil {
		return "", nil, fmt.Errorf("read day: %w", err)
	}
	return filepath.Base(arg), text, nil
}

// unpackDay writes a day's files into a new folder.
func unpackDay(dir string, archive []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("unpack day: %w", err)
	}
	t := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || !inFolder(h.Name) {
			return fmt.Errorf("unpack day: %w", errors.Join(err, fmt.Errorf("file %v", h)))
		}
		body, err := io.ReadAll(t)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, h.Name), body, 0o644)
		}
		if err != nil {
			return fmt.Errorf("unpack day: %w", err)
		}
	}
}
