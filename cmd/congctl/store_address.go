//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/fleet/store/clickhouse"
	"github.com/congctl/congctl/internal/fleet/store/kafka"
	"github.com/congctl/congctl/internal/loop/address"
	"github.com/congctl/congctl/internal/loop/config"
)

// topicOf returns the topic that a key names, or the file that it names.
func topicOf(key, value string) (kafka.Address, error) {
	at, err := config.Address(key, value)
	if err != nil {
		return kafka.Address{}, err
	}
	return kafka.ParseAddress(at)
}

// database is an address of ClickHouse, whole and without its password.
type database struct{ at, shown string }

// databaseOf is topicOf for ClickHouse.
func databaseOf(key, value string) (d database, err error) {
	if d.at, err = config.Address(key, value); err == nil {
		d.shown, err = clickhouse.Shown(d.at)
	}
	return d, err
}

func openDatabase(ctx context.Context, key, value string) (*clickhouse.Store, error) {
	d, err := databaseOf(key, value)
	if err != nil {
		return nil, usage(err)
	}
	s, err := clickhouse.Open(ctx, d.at)
	return s, storeError(d.shown, err)
}

// addressFlag is where a verb reads an address with a password.
func addressFlag(cmd *cobra.Command, to *string) {
	pathVar(cmd.Flags(), to, "address-file", "", "", "file with the address in place of ADDRESS, for one with a password; mode 600")
}

// addressOf returns the address that the command line has, or the file that it names.
func addressOf(cmd *cobra.Command, args []string, file string) (string, error) {
	switch {
	case (len(args) == 1) == (file != ""):
		return "", wrongUse(cmd, fmt.Errorf("%s: write ADDRESS, or --address-file FILE", nameOf(cmd)))
	case file != "":
		at, err := config.ReadAddress(file)
		if err != nil {
			return "", usage(fmt.Errorf("read --address-file: %w", err))
		}
		return at, nil
	}
	return args[0], unlocked(args[0])
}

// unlocked refuses a password on the command line.
func unlocked(at string) error {
	k, _ := address.ParseKafka(at)
	c, _ := address.ParseClickHouse(at)
	if k.Password+c.Password == "" {
		return nil
	}
	return usage(errors.New("a password on the command line, where every user of this host sees it: write the address into a file of mode 600, and use --address-file FILE"))
}

// storeError adds the next command.
func storeError(shown string, err error) error {
	if strings.Contains(shown, "@") {
		shown = "--address-file FILE"
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, clickhouse.ErrBehind):
		return &coded{exitRefused, "congctl store migrate " + shown, err}
	case errors.Is(err, clickhouse.ErrNoSchema), errors.Is(err, kafka.ErrNoTopic):
		return &coded{exitRefused, "congctl store init " + shown, err}
	}
	return failed("", err)
}
