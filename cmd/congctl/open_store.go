package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/congctl/congctl/internal/linux/instance"
	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
)

// lockState takes the lock of the configured state directory, if nobody else could have left it there.
func lockState(cfg config.Config) (*instance.Lock, error) {
	if err := owned("lock state_dir", filepath.Join(cfg.StateDir, "lock")); err != nil {
		return nil, err
	}
	return instance.Acquire(cfg.StateDir)
}

// openStore opens the store of the configured state directory, if nobody else could have written it.
func openStore(ctx context.Context, cfg config.Config, o sqlite.Options) (*sqlite.Store, error) {
	for _, suffix := range []string{"", "-wal", "-shm", "-head"} {
		if err := owned("open store", storePath(cfg)+suffix); err != nil {
			return nil, err
		}
	}
	s, err := sqlite.Open(ctx, storePath(cfg), o)
	if err != nil || !s.Missing().Unproven {
		return s, err
	}
	// What is written next makes the proof anew: nothing would tell the next start. On a full disk the next one tells.
	_ = s.CommitRound(ctx, &journal.Commit{Events: []journal.Event{{At: o.At.Unix(), Kind: "missing", Text: s.Missing().String()}}})
	return s, nil
}

// owned checks a file that congctl believes, and the directories above it.
func owned(doing, name string) error {
	err := plainfile.OwnedFile(name)
	var foreign plainfile.UntrustedError
	if errors.As(err, &foreign) {
		return failed("sudo "+foreign.Fix, fmt.Errorf("%s: %s", doing, foreign.Problem))
	} else if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
