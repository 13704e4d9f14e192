package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/core/policy"
)

func newConfig(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check or show the configuration"}
	cmd.AddCommand(&cobra.Command{
		Use:     "check",
		Short:   "Read the configuration and say every fault",
		Example: "  congctl config check -c congctl.yml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := g.checked(); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "no faults")
			return nil
		},
	}, &cobra.Command{
		Use:     "show",
		Short:   "Print the whole configuration that holds, defaults and scaled durations included",
		Example: "  congctl config show",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.checked()
			if err != nil {
				return err
			}
			text, err := c.Text()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	})
	return cmd
}

// checked also reads what the configuration points to.
func (g *global) checked() (config.Config, error) {
	c, err := g.config()
	if err != nil {
		return c, err
	}
	if _, err := rulesOf(c); err != nil {
		return c, err
	}
	return c, nil
}

// rulesOf gives the policy its numbers; what is wrong with them is the user's to mend.
func rulesOf(c config.Config) (policy.Rules, error) {
	r, err := c.Rules()
	if err != nil {
		return r, usage(err)
	}
	return r, nil
}
