package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/app/show"
	"github.com/congctl/congctl/internal/app/simulate"
	"github.com/congctl/congctl/internal/core/policy"
)

// city runs the loop where the truth is known.
func (s *simulation) city(cmd *cobra.Command, cfg config.Config, rules policy.Rules) error {
	if cmd.Flags().Changed("experiment") {
		rules.Trial.On = s.experiment == config.ExperimentOn
	}
	rules.HoldoutPrefixes, rules.AAPrefixes = nil, nil // named ones live elsewhere
	o := simulate.CityOptions{Seed: s.seed, Prefixes: s.prefixes, Hours: s.hours, Rules: rules}
	o.Holdout, o.AA = cfg.Experiment.Permille()
	tell, done := progress(cmd)
	r, err := simulate.City(cmd.Context(), o, func(share float64) { tell("%.0f %%", 100*share) })
	done()
	if err != nil {
		return err
	}
	return s.g.print(cmd, r, func(w io.Writer) error { return show.City(w, r) })
}

// Bounds of a city: below, its shares of kinds are a handful of prefixes and nothing is
// selected yet; above, it takes minutes and gigabytes, or longer than any cool-down tells.
const (
	minHours, maxHours       = 4, 720
	minPrefixes, maxPrefixes = 100, 20_000
)

func (s *simulation) checkCity() error {
	switch {
	case s.hours < minHours || s.hours > maxHours:
		return fmt.Errorf("--hours %d: use %d to %d", s.hours, minHours, maxHours)
	case s.prefixes < minPrefixes || s.prefixes > maxPrefixes:
		return fmt.Errorf("--prefixes %d: use %d to %d", s.prefixes, minPrefixes, maxPrefixes)
	case s.experiment != config.ExperimentOn && s.experiment != config.ExperimentOff:
		return fmt.Errorf("--experiment %q: use on or off", s.experiment)
	}
	return nil
}
