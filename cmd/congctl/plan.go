package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/kernel/enforce"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

func newPlan(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "plan", Short: "Show, compare, check, export, push or freeze the plan"}
	cmd.AddCommand(newPlanShow(g), newPlanDiff(g), newPlanValidate(g), newPlanHistory(g), newPlanExport(g), newPlanPush(g), newPlanRollback(g), newPlanAbort(g),
		newPlanFreeze(g), newPlanUnfreeze(g), newPlanKey(g))
	return cmd
}

func newPlanShow(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "show [SERIAL]",
		Short:   "Print a signed plan file, byte for byte; without a serial, the latest",
		Example: "  congctl plan show > plan.txt\n  congctl plan show 17",
		RunE: func(cmd *cobra.Command, args []string) error {
			serial, err := serialOf(args)
			if err != nil {
				return err
			}
			f, err := ask(cmd, g, control.View.Plan, serial)
			if err != nil {
				return err
			}
			return g.printText(cmd, f, f.Text)
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
		Short:   "Compare two plans by serial or file; without arguments, the last two",
		Example: "  congctl plan diff\n  congctl plan diff 16 17\n  congctl plan diff reviewed.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			var d plan.Diff
			err := g.withView(cmd.Context(), func(v control.View) error {
				a, b, err := twoPlans(cmd, v, args)
				if err == nil {
					d = plan.Compare(a, b)
				}
				return err
			})
			if err != nil {
				return err
			}
			return g.printText(cmd, d, d.Text())
		},
	}
}

// twoPlans returns the old and the new plan; by default the latest and the one before it.
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

// planArg is readPlan for who needs no signature.
func planArg(cmd *cobra.Command, v control.View, arg string) (*plan.Plan, error) {
	p, _, err := readPlan(cmd, v, arg)
	return p, err
}

// readPlan reads a plan by serial or by file name, and the latest for ""; without a view, by
// file name only. The signature is nil where there is none; it is not verified.
func readPlan(cmd *cobra.Command, v control.View, arg string) (*plan.Plan, *plan.Signature, error) {
	var text []byte
	if serial, err := strconv.ParseUint(arg, 10, 64); v != nil && (arg == "" || err == nil) {
		f, err := v.Plan(cmd.Context(), record.PlanID(serial))
		if err != nil {
			return nil, nil, err
		}
		text = []byte(f.Text)
	} else if text, err = plainfile.Read(arg, plan.MaxFileBytes); err != nil {
		return nil, nil, usage(fmt.Errorf("read plan: %w", err))
	}
	p, sig, err := plan.Parse(text)
	if err != nil {
		return nil, nil, &coded{code: exitRefused, err: fmt.Errorf("read plan %s: %w", arg, err)}
	}
	return p, sig, nil
}

func newPlanHistory(g *global) *cobra.Command {
	n := 0
	cmd := &cobra.Command{
		Use:     "history",
		Short:   "List the last plans, newest first: whose each is, what it changed, how far it came",
		Example: "  congctl plan history\n  congctl plan history -n 5 --pop chi",
		RunE: func(cmd *cobra.Command, _ []string) error {
			lines, err := ask(cmd, g, control.View.History, n)
			if err != nil {
				return err
			}
			return g.printTable(cmd, lines, func(w io.Writer) error { return control.WriteHistory(w, lines) })
		},
	}
	limitFlag(cmd, &n, 20, "how many of the last plans")
	return cmd
}

func newPlanValidate(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a plan file as an agent of this host would, against the plan in force",
		Long: `validate reads a plan file and prints every reason to refuse it, with its line:
syntax, hash, ranges, cap, change against the latest plan, congestion controls,
dates, PoP. Only a running congctl can tell whether this host trusts the key of the
signature.`,
		Example: "  congctl plan validate plan.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, rules, err := g.checked()
			if err != nil {
				return err
			}
			p, err := planArg(cmd, nil, args[0])
			if err != nil {
				return g.refusedPlan(cmd, PlanCheck{File: args[0]}, err)
			}
			prev, err := g.latest(cmd)
			if err != nil {
				return err
			}
			limits, err := limitsHere(cfg, rules)
			if err != nil {
				return err
			}
			limits.Now = time.Now().Unix()
			answer := PlanCheck{args[0], p.Serial, p.PoP, len(p.Entries), nil}
			if err := plan.Validate(p, prev, limits); err != nil {
				return g.refusedPlan(cmd, answer, &coded{code: exitRefused, err: err})
			}
			return g.printText(cmd, answer, fmt.Sprintf("%s: plan %d of %s, %d prefixes: nothing to refuse\n", args[0], p.Serial, p.PoP, len(p.Entries)))
		},
	}
}

// PlanCheck is the answer of plan validate.
type PlanCheck struct {
	File     string        `json:"file"`
	Serial   record.PlanID `json:"serial"` // 0: the file is no plan
	PoP      string        `json:"pop"`
	Prefixes int           `json:"prefixes"`
	Refusals []string      `json:"refusals"`
}

// refusedPlan returns err, and before that prints it as JSON where a plan was refused.
func (g *global) refusedPlan(cmd *cobra.Command, answer PlanCheck, err error) error {
	var c *coded
	if g.isTable() || !errors.As(err, &c) || c.code != exitRefused {
		return err
	}
	answer.Refusals = strings.Split(err.Error(), "\n")
	return errors.Join(g.print(cmd, answer, nil), err)
}

// latest returns the latest plan, or nil if there is none to compare with.
func (g *global) latest(cmd *cobra.Command) (p *plan.Plan, err error) {
	err = g.withView(cmd.Context(), func(v control.View) error {
		p, err = planArg(cmd, v, "")
		return err
	})
	if err != nil && codedOf(err).code == exitNotFound {
		return nil, nil
	}
	return p, err
}

// limitsOf returns what a plan may hold by the configuration; the caller sets Now.
func limitsOf(cfg config.Config, rules policy.Rules) plan.Limits {
	return plan.Limits{PoP: cfg.PoP, Congs: []string{cfg.Treatment.Cong}, MaxLifeS: plan.MaxLifeS, Max: cfg.Plan.Max,
		Deny: policy.Nets(rules.Guards.Never), Allow: slices.Concat(cfg.Plan.AllowPrefixes, policy.Nets(rules.Always)),
		MaxChange: cfg.Plan.MaxChange, MinChange: plan.MinChange, Ramp: cfg.Plan.NewPerRound, RoundSeconds: int64(cfg.Window / time.Second)}
}

// limitsHere are limitsOf with what this host's kernel has.
func limitsHere(cfg config.Config, rules policy.Rules) (plan.Limits, error) {
	l := limitsOf(cfg, rules)
	probe, err := enforce.ProbeKernel(cfg.Treatment.Cong, cfg.Cgroup)
	l.Congs = probe.Available
	return l, err
}

func newPlanFreeze(g *global) *cobra.Command {
	return g.act(&cobra.Command{
		Use:     "freeze",
		Short:   "Keep the plan as it is: rounds continue, nothing is added or released",
		Example: "  sudo congctl plan freeze",
	}, "the plan stays as it is", "congctl plan unfreeze", (*control.Client).Freeze, controller.Frozen)
}

func newPlanUnfreeze(g *global) *cobra.Command {
	return g.act(&cobra.Command{
		Use:     "unfreeze",
		Short:   "Undo freeze: rounds change the plan again",
		Example: "  sudo congctl plan unfreeze",
	}, "rounds change the plan again", "congctl plan freeze", (*control.Client).Unfreeze, controller.Unfrozen)
}
