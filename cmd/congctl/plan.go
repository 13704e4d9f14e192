package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/app/control"
	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/record"
	"github.com/congctl/congctl/internal/data/sqlite"
	"github.com/congctl/congctl/internal/kernel/enforce"
)

func newPlan(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "plan", Short: "Show, compare, check, freeze the steering plan"}
	cmd.AddCommand(newPlanShow(g), newPlanDiff(g), newPlanValidate(g), newPlanFreeze(g), newPlanUnfreeze(g))
	return cmd
}

func newPlanShow(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "show [SERIAL]",
		Short:   "Print a signed plan file, byte for byte; the latest without a serial",
		Example: "  congctl plan show > plan.txt\n  congctl plan show 17",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			serial, err := serialOf(args)
			if err != nil {
				return err
			}
			return g.withView(cmd.Context(), func(v control.View) error {
				f, err := v.Plan(cmd.Context(), serial)
				if err != nil {
					return err
				}
				return g.print(cmd, f, func(w io.Writer) error {
					_, err := io.WriteString(w, f.Text)
					return err
				})
			})
		},
	}
}

func serialOf(args []string) (record.PlanID, error) {
	if len(args) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil || n == 0 {
		return 0, usage(fmt.Errorf("plan serial %q: use a number from 1 on, as `congctl plan show` prints it", args[0]))
	}
	return record.PlanID(n), nil
}

func newPlanDiff(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "diff [OLD [NEW]]",
		Short:   "Compare two plans by serial or file; without arguments the last two",
		Example: "  congctl plan diff\n  congctl plan diff 16 17\n  congctl plan diff reviewed.txt",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withView(cmd.Context(), func(v control.View) error {
				a, b, err := twoPlans(cmd, v, args)
				if err != nil {
					return err
				}
				d := plan.Compare(a, b)
				return g.print(cmd, d, func(w io.Writer) error {
					_, err := io.WriteString(w, d.Text())
					return err
				})
			})
		},
	}
}

// twoPlans gives old and new; what is not named is the latest, and the one before it.
func twoPlans(cmd *cobra.Command, v control.View, args []string) (a, b *plan.Plan, err error) {
	if len(args) == 2 {
		b, err = planArg(cmd, v, args[1])
	} else {
		b, err = planArg(cmd, v, "")
	}
	if err != nil {
		return nil, nil, err
	}
	if len(args) > 0 {
		a, err = planArg(cmd, v, args[0])
		return a, b, err
	}
	if b.Serial == 1 {
		return &plan.Plan{}, b, nil
	}
	a, err = planArg(cmd, v, strconv.FormatUint(uint64(b.Serial)-1, 10))
	return a, b, err
}

// planArg reads a plan by serial, by file name, or the latest for "".
func planArg(cmd *cobra.Command, v control.View, arg string) (*plan.Plan, error) {
	var text []byte
	if serial, err := strconv.ParseUint(arg, 10, 64); arg == "" || err == nil {
		f, err := v.Plan(cmd.Context(), record.PlanID(serial))
		if err != nil {
			return nil, err
		}
		text = []byte(f.Text)
	} else if text, err = os.ReadFile(arg); err != nil {
		return nil, usage(fmt.Errorf("read plan: %w", err))
	}
	p, _, err := plan.Parse(text)
	if err != nil {
		return nil, &coded{code: exitRefused, err: fmt.Errorf("read plan %s: %w", arg, err)}
	}
	return p, nil
}

func newPlanValidate(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a plan file as an agent of this host would, against the plan in force",
		Long: `validate reads a plan file and says every reason to refuse it, with its line:
syntax, hash, ranges, cap, change against the latest plan, congestion controls,
dates, PoP. Whether the signature is of a key that this host trusts only a running
congctl can tell.`,
		Example: "  congctl plan validate plan.txt",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := g.config()
			if err != nil {
				return err
			}
			p, err := planArg(cmd, nil, args[0])
			if err != nil {
				return err
			}
			prev, err := g.latest(cmd)
			if err != nil {
				return err
			}
			limits, err := limitsOf(cfg)
			if err != nil {
				return err
			}
			limits.Now = time.Now().Unix()
			if err := plan.Validate(p, prev, limits); err != nil {
				return &coded{code: exitRefused, err: err}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: plan %d of %s, %d prefixes: nothing to refuse\n", args[0], p.Serial, p.PoP, len(p.Entries))
			return nil
		},
	}
}

// latest gives the latest plan, or nil where there is none to compare with.
func (g *global) latest(cmd *cobra.Command) (p *plan.Plan, err error) {
	err = g.withView(cmd.Context(), func(v control.View) error {
		p, err = planArg(cmd, v, "")
		return err
	})
	var c *coded
	if errors.As(err, &c) && c.code == exitNotFound {
		return nil, nil
	}
	return p, err
}

// limitsOf is what a plan may hold here; Now is the caller's.
func limitsOf(cfg config.Config) (plan.Limits, error) {
	deny, err := cfg.DenyList()
	if err != nil {
		return plan.Limits{}, usage(err)
	}
	probe, err := enforce.ProbeKernel(cfg.Treatment.Cong, cfg.Cgroup)
	if err != nil {
		return plan.Limits{}, err
	}
	l := plan.DefaultLimits(cfg.PoP, probe.Available, 0)
	l.Max, l.MaxChange, l.Ramp = cfg.Plan.Max, cfg.Plan.MaxChange, cfg.Plan.NewPerRound
	l.Deny, l.Allow = deny, cfg.Plan.AllowPrefixes
	l.RoundSeconds = int64(cfg.Window / time.Second)
	return l, nil
}

func newPlanFreeze(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "freeze",
		Short:   "Hold the plan as it is: rounds go on, nothing is added or released",
		Example: "  sudo congctl plan freeze",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.act(cmd, "the plan is held as it is", "congctl plan unfreeze",
				func(c *control.Client) error { return c.Freeze(cmd.Context(), "") },
				func(s *sqlite.Store) error {
					return keepFlag(cmd.Context(), s, journal.SettingFrozen, true, "freeze", "plan held as it is by ")
				})
		},
	}
}

func newPlanUnfreeze(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "unfreeze",
		Short:   "Undo freeze: rounds change the plan again",
		Example: "  sudo congctl plan unfreeze",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.act(cmd, "rounds change the plan again", "congctl plan freeze",
				func(c *control.Client) error { return c.Unfreeze(cmd.Context(), "") },
				func(s *sqlite.Store) error {
					return keepFlag(cmd.Context(), s, journal.SettingFrozen, false, "unfreeze", "plan released by ")
				})
		},
	}
}
