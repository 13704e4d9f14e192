package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
)

// TestReach waits for what is away, and not for what a person must mend.
func TestReach(t *testing.T) {
	away, wrong := failed("", errors.New("refused")), &coded{exitRefused, "congctl store init", errors.New("no schema")}
	for name, c := range map[string]struct {
		says []error
		want error
	}{
		"there": {[]error{nil}, nil}, "away, then there": {[]error{away, away, nil}, nil}, "away, then no schema": {[]error{away, wrong}, wrong},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			err := reach(t.Context(), slog.New(slog.DiscardHandler), func(context.Context) error { tries++; return c.says[tries-1] })
			if !errors.Is(err, c.want) || tries != len(c.says) {
				t.Errorf("%s: %v after %d tries", name, err, tries)
			}
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	if err := reach(ctx, slog.New(slog.DiscardHandler), func(context.Context) error { stop(); return away }); err != nil {
		t.Errorf("an end while it waits: %v", err)
	}
}
