package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
)

// openStore opens the store of the configured state directory, if nobody else could have written it.
func openStore(ctx context.Context, cfg config.Config, o sqlite.Options) (*sqlite.Store, error) {
	for _, suffix := range []string{"", "-wal", "-shm", "-head"} {
		if err := owned("open store", storePath(cfg)+suffix); err != nil {
			return nil, err
		}
	}
	return sqlite.Open(ctx, storePath(cfg), o)
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
