//go:build !small

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/simulate"
	"github.com/congctl/congctl/internal/simulate/city"
)

// city runs the loop on networks whose truth is known.
func (s *simulation) city(cmd *cobra.Command, cfg config.Config, rules policy.Rules) error {
	rules.HoldoutPrefixes, rules.AAPrefixes = nil, nil // named prefixes are elsewhere
	o := simulate.CityOptions{Seed: s.seed, Prefixes: s.prefixes, Hours: s.hours, Rules: rules, World: s.nuisances}
	o.Holdout, o.AA = cfg.Experiment.Permille()
	tell, done := progress(cmd)
	r, err := simulate.City(cmd.Context(), o, func(share float64) { tell("%.0f %%", 100*share) })
	done()
	if err != nil {
		return err
	}
	return s.g.print(cmd, r, r.Write)
}

// Bounds of a city. Below, each kind is a handful of prefixes and nothing is selected yet;
// above, it takes minutes and gigabytes, or longer than any cool-down.
const (
	minHours, maxHours       = 4, 720
	minPrefixes, maxPrefixes = 100, 20_000
)

func (s *simulation) checkCity(cmd *cobra.Command) error {
	switch {
	case s.hours < minHours || s.hours > maxHours:
		return fmt.Errorf("--hours %d: use %d to %d", s.hours, minHours, maxHours)
	case s.prefixes < minPrefixes || s.prefixes > maxPrefixes:
		return fmt.Errorf("--prefixes %d: use %d to %d", s.prefixes, minPrefixes, maxPrefixes)
	}
	var err error
	if s.nuisances, err = city.ParseWorld(s.world); err != nil {
		return fmt.Errorf("--world %w", err)
	}
	return nil
}
