package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/core/policy"
)

// simulation is the flags of simulate.
type simulation struct {
	g       *global
	policy  string
	history string
	store   string

	synthetic  bool
	seed       uint64
	hours      int
	prefixes   int
	experiment string
}

func newSimulate(g *global) *cobra.Command {
	s := &simulation{g: g}
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Replay recorded windows through other rules, or run the loop on an imagined city",
		Long: `Replay recorded windows through other rules and print what each round selects,
adds and releases: those of a history (JSON lines), or of the store on this host.
Or run the whole loop on an imagined city, where the truth is known.

Nothing is changed, and no running congctl is asked.`,
		Example: `  congctl simulate --policy p.yml --history windows.jsonl
  congctl simulate --policy p.yml --store /var/lib/congctl -o json
  congctl simulate --synthetic --seed 2`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVarP(&s.policy, "policy", "p", "", "the rules: the keys of a configuration's policy section, or a whole configuration (default the configuration that holds)")
	f.StringVar(&s.history, "history", "", "file of recorded windows, JSON lines; - is standard input")
	f.StringVar(&s.store, "store", "", "directory of a store (default state_dir, where neither --history nor --synthetic is given)")
	f.BoolVar(&s.synthetic, "synthetic", false, "run the loop on an imagined city")
	f.Uint64Var(&s.seed, "seed", 1, "of the city")
	f.IntVar(&s.hours, "hours", 72, "of the city, 4 to 720")
	f.IntVar(&s.prefixes, "prefixes", 2000, "of the city, 100 to 20000")
	f.StringVar(&s.experiment, "experiment", "on", "of the city: on is trial and promotion by effect, off is level alone (default that of the rules)")
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

// check refuses flags that do not go together: one that is silently ignored would
// let a figure look like an answer to another question.
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
	for _, name := range []string{"seed", "hours", "prefixes", "experiment"} {
		if set(name) && !s.synthetic {
			return fmt.Errorf("--%s: of the imagined city; use it with --synthetic", name)
		}
	}
	return s.checkCity()
}

// rules gives the policy that was named, or that of the configuration that holds.
func (s *simulation) rules() (config.Config, policy.Rules, error) {
	read := s.g.config
	if s.policy != "" {
		read = func() (config.Config, error) {
			c, err := config.ReadPolicy(s.policy)
			if err != nil {
				err = usage(err)
			}
			return c, err
		}
	}
	cfg, err := read()
	if err != nil {
		return cfg, policy.Rules{}, err
	}
	rules, err := rulesOf(cfg)
	return cfg, rules, err
}

// progress tells a person that something goes on; nothing where standard error is
// not a terminal, or what it wrote last is less than a fifth of a second ago.
func progress(cmd *cobra.Command) (tell func(format string, args ...any), done func()) {
	w := cmd.ErrOrStderr()
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
