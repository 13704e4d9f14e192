package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/goodput/effects"
	"github.com/congctl/congctl/internal/goodput/store/responses"
	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
)

// effectQuery holds the flags of effect.
type effectQuery struct{ Since, By, Label string }

// effectOfPoP is behind effect at a fleet's controller.
var effectOfPoP = control.Query[effectQuery, *effects.View]{Name: "effect"}

// The values of --by.
var effectGroupings = []string{"network", "tenant", "class"}

func newEffect(g *global) *cobra.Command {
	var q effectQuery
	cmd := &cobra.Command{
		Use:   "effect",
		Short: "Show what the treatment did: pairs of treatment and control blocks, its cost, A/A, hold-out",
		Long: `effect reads the store and compares treatment blocks with the control blocks of
the same client networks: the 5th, 10th and 50th percentile of delivery rate, and of
goodput where access logs are followed, with intervals, and the cost.

With --label it compares before and after --since instead, for any change outside of
congctl. That is confounded with everything else that changed, and the output says so.`,
		Example: "  congctl effect\n  congctl effect --since 7d --by network\n  congctl effect --since 2026-11-20T12:00:00Z --label initcwnd=20 -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := g.config()
			if err != nil {
				return err
			}
			var v *effects.View
			if g.pop != "" {
				v, err = control.Ask(cmd.Context(), g.client(cfg), effectOfPoP, q)
			} else {
				v, err = effectHere(cmd.Context(), cfg, q)
			}
			if err != nil {
				return err
			}
			g.note(g.client(cfg).Status(cmd.Context()))
			return g.print(cmd, v, func(w io.Writer) error { return v.Text(w, width(w)) })
		},
	}
	cmd.Flags().StringVar(&q.Since, "since", "24h", "a duration back from now (24h, 7d), or a time (2026-11-20T12:00:00Z)")
	cmd.Flags().StringVar(&q.By, "by", "", "break down by network, tenant or class (path class: round trip and loss)")
	cmd.Flags().StringVar(&q.Label, "label", "", "name of another change, made at --since: compare before with after (not evidence)")
	complete(cmd, "by", effectGroupings)
	return cmd
}

func effectHere(ctx context.Context, cfg config.Config, q effectQuery) (*effects.View, error) {
	v, err := effectOf(ctx, cfg, q, time.Now())
	if f := metricsFinding(); err == nil && f != nil {
		v.Findings = append(v.Findings, *f)
	}
	return v, err
}

// effectOf reads the store of cfg.
func effectOf(ctx context.Context, cfg config.Config, q effectQuery, now time.Time) (v *effects.View, err error) {
	since, err := config.ParseSince(q.Since, now)
	if err != nil {
		return nil, usage(fmt.Errorf("--since %w", err))
	}
	if q.By != "" && !slices.Contains(effectGroupings, q.By) {
		return nil, usage(fmt.Errorf("--by %q: use %s", q.By, strings.Join(effectGroupings, ", ")))
	}
	none := notFound("sudo congctl up", errors.New("there is no store in "+cfg.StateDir))
	err = withStore(ctx, cfg, none, func(s *sqlite.Store) error {
		v, err = effectFrom(ctx, cfg, q, s, since, now)
		return err
	})
	return v, err
}

func effectFrom(ctx context.Context, cfg config.Config, q effectQuery, s *sqlite.Store, since, now time.Time) (*effects.View, error) {
	salt, _, err := s.Setting(ctx, journal.SettingSalt)
	if err != nil {
		return nil, err
	}
	c := effects.ConfigOf(cfg, salt)
	c.From, c.To = since.Unix(), now.Unix()
	if q.Label != "" {
		c.ChangeAt = c.From
		c.From = 2*c.ChangeAt - c.To // as long before as after
	}
	b, turns, log, err := effects.Load(ctx, c, s, goodputDir(cfg))
	if err != nil {
		return nil, err
	}
	by, done, err := groupingOf(cfg, q.By, b)
	if err != nil {
		return nil, err
	}
	v := &effects.View{PoP: cfg.PoP, Treatment: cfg.Treatment.Cong, From: c.From, To: c.To, Label: q.Label, ChangeAt: c.ChangeAt}
	v.Fill(b.Report(by, effectSeed), q.By)
	if q.Label == "" {
		v.Taken = turns.Taken()
	}
	v.FillLog(log)
	return v, done()
}

// effectSeed seeds the bootstrap. It is fixed, so that the same store gives the same answer.
const effectSeed = 1

func goodputDir(cfg config.Config) responses.Dir {
	return responses.Dir(filepath.Join(cfg.StateDir, "goodput"))
}

// sysctls are those of this process's network namespace.
var sysctls = carry.Sysctls{Root: "/"}

// metricsFinding returns what `host check` says of this host's own network namespace;
// nil where it finds nothing.
func metricsFinding() *effects.Finding {
	saved, err := sysctls.Read(advise.KeyMetrics)
	threshold, _ := sysctls.Read(advise.KeyThreshold) // may be unreadable
	f := advise.Metrics(saved.Text, threshold.Text)
	if err != nil || !saved.Present || f.Verdict != advise.Warn { // no /proc, no finding
		return nil
	}
	return &effects.Finding{Text: f.Fact + ": " + f.Why, Fix: f.Fix + " (undo: " + f.Undo + ")"}
}
