package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/core/record"
	"github.com/congctl/congctl/internal/data/wire"
	"github.com/congctl/congctl/internal/kernel/clock"
)

func newRecords(*global) *cobra.Command {
	return &cobra.Command{
		Use:     "records FILE",
		Short:   "Print a records file as lines of JSON, one a connection and window",
		Example: "  congctl records /var/lib/congctl/records-20261120T230500.000Z.pb | head",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return usage(err)
			}
			defer f.Close()
			out := bufio.NewWriter(cmd.OutOrStdout())
			enc := json.NewEncoder(out)
			rep, err := wire.Read(bufio.NewReader(f), func(_ *wire.Header, c *record.Conn) error { return enc.Encode(c) })
			if rep.TornBytes > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "congctl: the last %d bytes are a batch that was cut off\n", rep.TornBytes)
			}
			return errors.Join(err, out.Flush())
		},
	}
}

// records opens the records file that the configuration asks for: its name with
// the time of this start, since a file is written once. nil when it asks for none.
func (u *up) records() (func(*record.Conn), error) {
	if u.cfg.Store.RecordsFile == "" {
		return nil, nil
	}
	boot, err := clock.BootID()
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name this host: %w", err)
	}
	path := u.cfg.Store.RecordsFile + "-" + time.Now().UTC().Format("20060102T150405.000Z") + ".pb"
	w, err := wire.Create(path, wire.Header{Boot: boot, Host: host, PoP: u.cfg.PoP, CongctlVersion: version}, wire.Limits{}, u.cfg.Store.Addresses)
	if err != nil {
		return nil, err
	}
	u.later(w.Close)
	failed := false
	return func(c *record.Conn) {
		if err := w.Add(c); err != nil && !failed {
			failed = true
			u.log.Error("write records", "path", path, "err", err)
		}
	}, nil
}
