package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
)

// ofFleet adds to a verb the flags by which it asks a fleet's controller.
func ofFleet(g *global, cmd *cobra.Command) {
	cmd.Flags().StringVar(&g.pop, "pop", "", "ask a fleet's controller about this PoP, with the certificate or token of the section fleet")
	cmd.Flags().StringVar(&g.controller, "controller", "", "URL of that controller (default fleet.controller)")
}

func filesOf(f config.Fleet) mtls.Files { return mtls.Files{Cert: f.Cert, Key: f.Key, CA: f.CA} }

// revokedOf are the certificates that are trusted no longer.
func revokedOf(revoked []config.Revoked) (names []string) {
	for _, r := range revoked {
		names = append(names, string(r))
	}
	return names
}

// popPath is where a controller answers queries about a PoP.
func popPath(pop string) string { return "/pop/" + pop }

// dialLate reads the certificates when a connection is made, so that a fault is an answer's.
func dialLate(f config.Fleet) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		files := filesOf(f)
		if f.TokenFile != "" {
			files.Cert, files.Key = "", ""
		}
		c, err := mtls.Open(files, func(error) {})
		if err != nil {
			return nil, err
		}
		c.Revoke(revokedOf(f.Revoked))
		return c.Dial(ctx, network, address)
	}
}

// fleetQuery is behind fleet status.
var fleetQuery = control.Query[control.None, FleetStatus]{Name: "fleet"}

// FleetStatus is the answer of fleet status: one PoP.
type FleetStatus struct {
	PoP     string        `json:"pop"`
	Stage   string        `json:"stage"` // of the roll-out; "" if nothing rolls out
	Plan    record.PlanID `json:"plan"`  // the last that settled
	Next    record.PlanID `json:"next,omitempty"`
	Stopped bool          `json:"stopped"`
	Hosts   []FleetHost   `json:"hosts"`
}

// FleetHost is one host by its own last word.
type FleetHost struct {
	Host      string        `json:"host"`
	Connected bool          `json:"connected"`
	Version   string        `json:"version"`
	Tier      string        `json:"tier"`        // full, good, observe; "" of an older agent
	BBR       int           `json:"bbr_version"` // of its kernel; 0: it has none, or an older agent
	Plan      record.PlanID `json:"plan"`
	InForce   int           `json:"prefixes_in_force"` // read back from its kernel
	Stopped   bool          `json:"stopped"`
	Astray    bool          `json:"astray"` // it did not take what all must have

	// Of the latest window that closed; docs/fleet.md has the rule.
	Share     float64 `json:"share"`            // of the PoP's connections, by what the hosts sent
	Counted   float64 `json:"counted"`          // the share of its own connections that counts
	Capped    bool    `json:"capped"`           // it outweighs the others, so not all of it counts
	BytesPerS float64 `json:"rate_bytes_per_s"` // its median; 0: none was measured
	Ratio     float64 `json:"rate_to_pop"`      // of that to the median of the hosts' medians
}

func newFleet(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "fleet", Short: "Show the hosts of a fleet"}
	cmd.AddCommand(&cobra.Command{
		Use:     "status",
		Short:   "Show the hosts of a PoP, what each has in force, and how far a plan is",
		Example: "  congctl fleet status --pop chi",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if g.pop == "" {
				return usage(errors.New("fleet status needs --pop: name the PoP to ask about"))
			}
			var f FleetStatus
			err := g.withView(cmd.Context(), func(v control.View) (err error) {
				f, err = control.Ask(cmd.Context(), v.(*control.Client), fleetQuery, control.None{})
				return err
			})
			if err != nil {
				return err
			}
			return g.printTable(cmd, f, func(w io.Writer) error { return writeFleet(w, f) })
		},
	})
	return cmd
}

func writeFleet(w io.Writer, f FleetStatus) error {
	fmt.Fprintf(w, "pop %s: plan %d", f.PoP, f.Plan)
	if f.Stage != "" {
		fmt.Fprintf(w, ", plan %d is at stage %s", f.Next, f.Stage)
	}
	if f.Stopped {
		fmt.Fprint(w, ", stopped")
	}
	fmt.Fprintln(w)
	rows := make([][]string, 0, len(f.Hosts))
	for _, h := range f.Hosts {
		rows = append(rows, []string{h.Host, h.state(), fmt.Sprint(h.Plan), fmt.Sprint(h.InForce), known("%.1f%%", 100*h.Share), answer.Mbit(h.BytesPerS), known("%.2gx", h.Ratio), h.capped(), answer.Or(h.Tier, "-"), answer.Or(h.Version, "-")})
	}
	return answer.Table(w, "HOST STATE PLAN PREFIXES SHARE MBIT/S TO_POP CAPPED TIER VERSION", rows)
}

// known formats a figure; 0 is unknown.
func known(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

func (h FleetHost) capped() string {
	if !h.Capped {
		return answer.Yes(false)
	}
	return fmt.Sprintf("yes: %.2g%% counts", 100*h.Counted)
}

func (h FleetHost) state() string {
	switch {
	case !h.Connected:
		return "away"
	case h.Astray:
		return "astray"
	case h.Stopped:
		return "stopped"
	}
	return "connected"
}
