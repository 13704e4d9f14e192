package main

import (
	"bufio"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/linux/clock"
	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/loop/sockets"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

func newRecords(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "records FILE",
		Short: "Print a records file as JSON, one object for each connection and window",
		Long: `records prints one JSON object for each connection and window, each on a line of its
own, or with -o json all in one array.`,
		Example: "  congctl records /var/lib/congctl/records-20261120T230500.000Z.pb | head -n 1",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := plainfile.Open(args[0])
			if err != nil {
				return usage(err)
			}
			defer f.Close()
			if g.isTable() { // there is none: a record has too many fields
				g.output = answer.FormatJSONL
			}
			l := g.list(cmd)
			var object []byte
			rep, err := wire.Read(bufio.NewReader(f), func(_ *wire.Header, c *record.Conn) error {
				object = sockets.AppendRecord(object[:0], c)
				return l.AddJSON(object)
			})
			err = l.Close(err)
			if rep.TornBytes > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "congctl: the last %d bytes are a truncated batch\n", rep.TornBytes)
			}
			return err
		},
	}
}

// recordsFile opens the records file that the configuration asks for, nil for none. Its name
// has the time of this start, since a file is written once.
func (u *edgeHost) recordsFile() (func(*record.Conn), error) {
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
			u.log.Error("write records file "+path, "err", err)
		}
	}, nil
}
