package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/loop/control"
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
