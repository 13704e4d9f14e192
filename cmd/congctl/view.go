package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/app/control"
	"github.com/congctl/congctl/internal/app/controller"
	"github.com/congctl/congctl/internal/data/sqlite"
)

// withView runs fn with whoever can answer: the running congctl on its socket, or
// a replay of the store when none runs.
func (g *global) withView(ctx context.Context, fn func(control.View) error) error {
	cfg, err := g.config()
	if err != nil {
		return err
	}
	client := control.NewClient(cfg.Socket)
	defer client.Close()
	err = fn(client)
	if !errors.Is(err, control.ErrNotRunning) {
		return explained(err)
	}
	view, done, err := openStored(ctx, cfg)
	if err != nil {
		return err
	}
	return explained(errors.Join(fn(view), done()))
}

func openStored(ctx context.Context, cfg config.Config) (control.View, func() error, error) {
	s, err := sqlite.Open(ctx, storePath(cfg), sqlite.Options{ReadOnly: true, SkipCheck: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, notFound("sudo congctl up", errors.New("no congctl runs here and none has left a store in "+cfg.StateDir))
	} else if err != nil {
		return nil, nil, err
	}
	rules, err := rulesOf(cfg)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	o := controller.Options{PoP: cfg.PoP, Rules: rules, Window: cfg.Window}
	o.HoldoutPermille, o.AAPermille = cfg.Experiment.Permille()
	v, err := controller.NewStored(ctx, s, s, o, version, time.Now)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return v, s.Close, nil
}

// explained gives an answer's error its exit code and hint.
func explained(err error) error {
	var e *control.Error
	if !errors.As(err, &e) {
		return err
	}
	code := exitFailed
	switch e.Code {
	case control.NotFound:
		code = exitNotFound
	case control.BadRequest:
		code = exitUsage
	}
	return &coded{code, e.Hint, err}
}

// print writes an answer as JSON or by fn.
func (g *global) print(cmd *cobra.Command, v any, fn func(io.Writer) error) error {
	asJSON, err := g.json()
	if err != nil {
		return err
	}
	if !asJSON {
		return fn(cmd.OutOrStdout())
	}
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
