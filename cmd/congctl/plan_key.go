package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/plan"
)

// The queries behind plan key.
var (
	keyQuery     = control.Query[control.None, PlanKeys]{Name: "key"}
	makeKeyQuery = control.Query[control.None, PlanKeys]{Name: "key-next", Acts: true}
	switchQuery  = control.Query[switchRequest, PlanKeys]{Name: "key-switch", Acts: true}
)

type switchRequest struct {
	Anyway bool `json:"anyway"` // though hosts do not take the next key's plans
}

func (q *switchRequest) String() string {
	if q.Anyway {
		return "--yes"
	}
	return ""
}

// PlanKeys is the answer of plan key. Keys are as fleet.plan_keys has them.
type PlanKeys struct {
	PoP     string   `json:"pop"`
	Key     string   `json:"key"`
	Next    string   `json:"next"`    // "": none is made
	Lacking []string `json:"lacking"` // connected hosts that take no plan of the next key
}

func newPlanKey(g *global) *cobra.Command {
	var next, doSwitch, yes bool
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Show the key that signs a PoP's plans, or replace it step by step",
		Long: `key prints the public key that signs the plans of a PoP, and the next one, for
fleet.plan_keys of the PoP's agents. --next makes the next key; add it to plan_keys and send
the agents SIGHUP. --switch signs with it from then on and destroys the key before it; that is
refused while a connected host does not take its plans.`,
		Example: "  congctl plan key --pop chi\n  congctl plan key --next --pop chi\n  congctl plan key --switch --pop chi",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if g.pop == "" {
				return usage(errors.New("plan key needs --pop: name the PoP whose plans it signs"))
			}
			if next && doSwitch {
				return wrongUse(cmd, errors.New("--next and --switch: one after the other, with the agents' SIGHUP between"))
			}
			cfg, err := g.config()
			if err != nil {
				return err
			}
			k, err := keysBy(cmd.Context(), g.client(cfg), next, doSwitch, yes)
			if err != nil {
				return err
			}
			return g.printText(cmd, k, k.text())
		},
	}
	cmd.Flags().BoolVar(&next, "next", false, "make the next key, if there is none")
	cmd.Flags().BoolVar(&doSwitch, "switch", false, "sign with the next key, and destroy the one before it")
	cmd.Flags().BoolVar(&yes, "yes", false, "of --switch: though connected hosts do not take the next key's plans")
	return cmd
}

func keysBy(ctx context.Context, c *control.Client, next, doSwitch, yes bool) (PlanKeys, error) {
	switch {
	case next:
		return control.Ask(ctx, c, makeKeyQuery, control.None{})
	case doSwitch:
		return control.Ask(ctx, c, switchQuery, switchRequest{yes})
	}
	return control.Ask(ctx, c, keyQuery, control.None{})
}

func (k PlanKeys) text() string {
	text := fmt.Sprintf("pop %s: plan key %s\n", k.PoP, k.Key)
	if k.Next != "" {
		text += fmt.Sprintf("next plan key %s\n", k.Next)
	}
	if len(k.Lacking) > 0 {
		text += "not yet in plan_keys of " + strings.Join(k.Lacking, ", ") + "\n"
	}
	return text
}

// handleKeys answers plan key.
func (p *popOffice) handleKeys() {
	by := func(ctx context.Context) string { return link.Caller(ctx).String() }
	control.Handle(p.queries, keyQuery, func(ctx context.Context, _ control.None) (PlanKeys, error) { return p.planKeys(ctx) })
	control.Handle(p.queries, makeKeyQuery, func(ctx context.Context, _ control.None) (PlanKeys, error) {
		if err := p.controller.MakeKey(ctx, by(ctx)); err != nil {
			return PlanKeys{}, err
		}
		return p.planKeys(ctx)
	})
	control.Handle(p.queries, switchQuery, func(ctx context.Context, q switchRequest) (PlanKeys, error) {
		k, err := p.planKeys(ctx)
		if err == nil && len(k.Lacking) > 0 && !q.Anyway {
			err = &control.Error{Code: control.Conflict, Text: "switch key: it would lock out " + strings.Join(k.Lacking, ", ") + ": add " + k.Next + " to fleet.plan_keys there and send SIGHUP",
				Hint: "congctl plan key --switch --yes, which leaves them without treatment"}
		}
		if err == nil {
			err = p.controller.SwitchKey(ctx, by(ctx))
		}
		if err != nil {
			return PlanKeys{}, err
		}
		return p.planKeys(ctx)
	})
}

func (p *popOffice) planKeys(ctx context.Context) (PlanKeys, error) {
	now, next, err := p.controller.Keys(ctx)
	k := PlanKeys{PoP: p.cfg.PoP, Key: hex.EncodeToString(now), Next: hex.EncodeToString(next), Lacking: []string{}}
	if next != nil {
		k.Lacking = append(k.Lacking, p.Lacking(plan.KeyID(next))...)
	}
	return k, err
}
