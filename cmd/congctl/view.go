package main

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
)

// withView runs fn with the running congctl on its socket, or with a replay of the store
// when none runs.
func (g *global) withView(ctx context.Context, fn func(control.View) error) error {
	cfg, err := g.config()
	if err != nil {
		return err
	}
	asked := func(v control.View) error {
		if err := fn(v); err != nil {
			return err
		}
		if g.isTable() {
			g.note(v.Status(ctx))
		}
		return nil
	}
	if err = asked(g.client(cfg)); errors.Is(err, control.ErrNotRunning) {
		return withStored(ctx, cfg, asked)
	}
	return err
}

// note keeps for the answer what a person must know whatever they asked: treatment is stopped.
func (g *global) note(s control.Status, err error) {
	switch {
	case err != nil:
	case s.Stopped:
		g.banner = "treatment is stopped: nothing new is treated"
	case s.StoppedNext:
		g.banner = "the store says that treatment is stopped: the next start treats nothing"
	}
}

// ask asks such a view one thing.
func ask[Q, A any](cmd *cobra.Command, g *global, what func(control.View, context.Context, Q) (A, error), q Q) (a A, err error) {
	err = g.withView(cmd.Context(), func(v control.View) error {
		a, err = what(v, cmd.Context(), q)
		return err
	})
	return a, err
}

func withStored(ctx context.Context, cfg config.Config, fn func(control.View) error) error {
	none := notFound("sudo congctl up", errors.New("no congctl is running here, and there is no store in "+cfg.StateDir))
	return withStore(ctx, cfg, none, func(s *sqlite.Store) error {
		rules, err := rulesOf(cfg)
		if err != nil {
			return err
		}
		o, done, err := withNames(optionsOf(cfg, rules), cfg)
		if err != nil {
			return err
		}
		v, err := controller.Stored(ctx, s, o, version, time.Now)
		if err == nil {
			err = fn(v)
		}
		return errors.Join(err, done())
	})
}

// withStore runs fn with the store to read; none is the error where there is no store.
func withStore(ctx context.Context, cfg config.Config, none error, fn func(*sqlite.Store) error) error {
	s, err := openStore(ctx, cfg, sqlite.Options{ReadOnly: true, SkipCheck: true})
	if errors.Is(err, fs.ErrNotExist) {
		return none
	} else if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}

// optionsOf returns the controller's numbers.
func optionsOf(cfg config.Config, rules policy.Rules) controller.Options {
	o := controller.Options{PoP: cfg.PoP, Rules: rules, Limits: limitsOf(cfg, rules), Treatment: cfg.Treatment.Cong, TreatmentKnown: cfg.Treatment.Version > 0, MinBytes: cfg.Treatment.MinBytes}
	o.HoldoutPermille, o.AAPermille = cfg.Experiment.Permille()
	return o
}
