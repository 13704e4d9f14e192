package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/policy"
)

func newConfig(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check or show the configuration"}
	cmd.AddCommand(&cobra.Command{
		Use:     "check",
		Short:   "Check the configuration and report every fault",
		Example: "  congctl config check -c congctl.yml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := g.checked()
			if err == nil && c.SocketGroup != "" {
				if _, missing := control.Group(c.SocketGroup); missing != nil {
					err = usage(missing)
				}
			}
			for _, key := range c.Ignored {
				fmt.Fprintf(cmd.ErrOrStderr(), "congctl: note: a key of an earlier version: %s\n", key)
			}
			if away := c.CheckAddresses(); err == nil && errors.Is(away, config.ErrNoCredentials) {
				fmt.Fprintf(cmd.ErrOrStderr(), "congctl: note: not checked: %v\n", away)
			} else if err == nil && away != nil {
				err = usage(away)
			}
			answer := ConfigCheck{File: g.configPath}
			if err == nil {
				return g.printText(cmd, answer, "no faults\n")
			}
			if answer.Faults = strings.Split(err.Error(), "\n"); !g.isTable() {
				err = errors.Join(g.print(cmd, answer, nil), err)
			}
			return err
		},
	}, &cobra.Command{
		Use:     "show",
		Short:   "Print the whole configuration in use, with defaults and scaled durations",
		Example: "  congctl config show",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := g.checked()
			if err != nil {
				return err
			}
			text, err := c.Shown().Text()
			if err != nil {
				return err
			}
			var keys map[string]any
			if err := yaml.Unmarshal(text, &keys); err != nil {
				return fmt.Errorf("read own configuration: %w", err)
			}
			return g.printText(cmd, keys, string(text))
		},
	})
	return cmd
}

// ConfigCheck is the answer of config check.
type ConfigCheck struct {
	File   string   `json:"file"` // "": that of the default path, or none
	Faults []string `json:"faults"`
}

// checked also reads the files that the configuration names.
func (g *global) checked() (c config.Config, r policy.Rules, err error) {
	if c, err = g.config(); err == nil {
		r, err = rulesOf(c)
	}
	return c, r, err
}

// rulesOf returns the policy's numbers; the user must correct what is wrong with them.
func rulesOf(c config.Config) (policy.Rules, error) {
	r, err := c.Rules()
	if err != nil {
		return r, usage(err)
	}
	return r, nil
}
