//go:build !small

package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/simulate/city"
)

// simulation holds the flags of simulate.
type simulation struct {
	g       *global
	policy  string
	history string
	store   string

	synthetic bool
	seed      uint64
	hours     int
	prefixes  int
	world     []string
	nuisances city.World // of world
}

func newSimulate(g *global) *cobra.Command {
	s := &simulation{g: g}
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Replay recorded windows under other rules, or run the loop on an imagined city",
		Long: `simulate replays recorded windows, from a history (JSON lines) or the store on this
host, under other rules, and prints what each round selects, adds and releases. Or it
runs the whole loop on an imagined city, where the truth is known.

It changes nothing and does not contact a running congctl.`,
		Example: `  congctl simulate --policy p.yml --history windows.jsonl
  congctl simulate --policy p.yml --store /var/lib/congctl -o json
  congctl simulate --synthetic --seed 2
  congctl simulate --synthetic --world mild,mobile`,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	f := cmd.Flags()
	pathVar(f, &s.policy, "policy", "p", "", "the rules: the keys of a configuration's policy section, or a whole configuration (default the configuration in use)")
	pathVar(f, &s.history, "history", "", "", "file of recorded windows, JSON lines; - is standard input")
	pathVar(f, &s.store, "store", "", "", "directory of a store (default state_dir, where neither --history nor --synthetic is given)")
	f.BoolVar(&s.synthetic, "synthetic", false, "run the loop on an imagined city")
	f.Uint64Var(&s.seed, "seed", 1, "seed of the city")
	f.IntVar(&s.hours, "hours", 72, "hours of the city, 4 to 720")
	f.IntVar(&s.prefixes, "prefixes", 2000, "prefixes of the city, 100 to 20000")
	f.StringSliceVar(&s.world, "world", nil, "nuisances of the city, by comma: "+strings.Join(city.Names(), ", ")+" (default none)")
	complete(cmd, "world", city.Names())
	return cmd
}

func (s *simulation) run(cmd *cobra.Command) error {
	if err := s.check(cmd); err != nil {
		return usage(err)
	}
	cfg, rules, err := s.rules()
	switch {
	case err != nil:
		return err
	case s.synthetic:
		return s.city(cmd, cfg, rules)
	case s.history != "":
		return s.replayHistory(cmd, rules)
	}
	return s.replayStore(cmd, rules)
}

// check refuses flags that do not go together: silently ignoring one would make a figure
// look like the answer to another question.
func (s *simulation) check(cmd *cobra.Command) error {
	set := func(name string) bool { return cmd.Flags().Changed(name) }
	sources := 0
	for _, on := range []bool{set("history"), set("store"), s.synthetic} {
		if on {
			sources++
		}
	}
	if sources > 1 {
		return errors.New("--history, --store and --synthetic: use one of them")
	}
	for _, name := range []string{"history", "store", "policy"} {
		if set(name) && cmd.Flag(name).Value.String() == "" {
			return fmt.Errorf("--%s: empty; name one, or leave it out", name)
		}
	}
	for _, name := range []string{"seed", "hours", "prefixes", "world"} {
		if set(name) && !s.synthetic {
			return fmt.Errorf("--%s %s: applies to the imagined city only; use it with --synthetic", name, cmd.Flags().Lookup(name).Value)
		}
	}
	return s.checkCity(cmd)
}

// rules returns the named policy, or that of the configuration in force.
func (s *simulation) rules() (config.Config, policy.Rules, error) {
	read := s.g.config
	if s.policy != "" {
		read = func() (config.Config, error) {
			c, err := config.ReadPolicy(s.policy)
			if err != nil {
				return c, usage(err)
			}
			return s.g.withHost(c)
		}
	}
	cfg, err := read()
	if err != nil {
		return cfg, policy.Rules{}, err
	}
	rules, err := rulesOf(cfg)
	return cfg, rules, err
}

// progress shows a person that work goes on. It prints nothing if standard error is not
// a terminal, or if it printed less than a fifth of a second ago.
func progress(cmd *cobra.Command) (tell func(format string, args ...any), done func()) {
	w := raw(cmd.ErrOrStderr())
	if !isTerminal(w) {
		return func(string, ...any) {}, func() {}
	}
	var last time.Time
	told := false
	tell = func(format string, args ...any) {
		if now := time.Now(); now.Sub(last) > time.Second/5 {
			last, told = now, true
			fmt.Fprintf(w, "\r\x1b[K"+format, args...)
		}
	}
	return tell, func() {
		if told {
			fmt.Fprint(w, "\r\x1b[K")
		}
	}
}
