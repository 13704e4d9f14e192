package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/app/effects"
	"github.com/congctl/congctl/internal/core/comparison"
	"github.com/congctl/congctl/internal/core/goodput"
	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/data/responses"
	"github.com/congctl/congctl/internal/data/sqlite"
)

// effectQuery is what the flags of effect say.
type effectQuery struct{ since, by, label string }

// Values of --by.
var effectGroupings = []string{"network", "tenant", "class"}

func newEffect(g *global) *cobra.Command {
	var q effectQuery
	cmd := &cobra.Command{
		Use:   "effect",
		Short: "Show what the treatment did: pairs of treatment and control blocks, its cost, A/A, hold-out",
		Long: `effect reads the store and compares treatment blocks with the control blocks of
the same client networks: the 5th, 10th and 50th percentile of delivery rate, and of
goodput where access logs are followed, with intervals, and what it cost.

With --label it compares before and after --since instead, for any change outside of
congctl. That is confounded with all else that changed, and the answer says so.`,
		Example: "  congctl effect\n  congctl effect --since 7d --by network\n  congctl effect --since 2026-11-20T12:00:00Z --label initcwnd=20 -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := g.config()
			if err != nil {
				return err
			}
			v, err := effectOf(cmd.Context(), cfg, q, time.Now())
			if err != nil {
				return err
			}
			return g.print(cmd, v, func(w io.Writer) error { return v.Text(w) })
		},
	}
	cmd.Flags().StringVar(&q.since, "since", "24h", "a duration back from now (24h, 7d), or a time (2026-11-20T12:00:00Z)")
	cmd.Flags().StringVar(&q.by, "by", "", "break down by network, tenant or class (of path: round trip and loss)")
	cmd.Flags().StringVar(&q.label, "label", "", "name of another change at --since: compare before with after; no evidence")
	return cmd
}

func effectOf(ctx context.Context, cfg config.Config, q effectQuery, now time.Time) (*effects.View, error) {
	since, err := parseSince(q.since, now)
	if err != nil {
		return nil, usage(err)
	}
	if q.by != "" && !slices.Contains(effectGroupings, q.by) {
		return nil, usage(fmt.Errorf("--by %q: use %s", q.by, strings.Join(effectGroupings, ", ")))
	}
	s, err := sqlite.Open(ctx, storePath(cfg), sqlite.Options{ReadOnly: true, SkipCheck: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound("sudo congctl up", errors.New("no congctl has left a store in "+cfg.StateDir))
	} else if err != nil {
		return nil, err
	}
	v, err := effectFrom(ctx, cfg, q, s, since, now)
	return v, errors.Join(err, s.Close())
}

func effectFrom(ctx context.Context, cfg config.Config, q effectQuery, s *sqlite.Store, since, now time.Time) (*effects.View, error) {
	c, err := comparisonOf(ctx, cfg, s)
	if err != nil {
		return nil, err
	}
	c.From, c.To = since.Unix(), now.Unix()
	if q.label != "" {
		c.ChangeAt = c.From
		c.From = 2*c.ChangeAt - c.To // as long before as after
	}
	b, log, err := effects.Load(ctx, c, s, keptResponses{goodputDir(cfg)})
	if err != nil {
		return nil, err
	}
	by, done, err := groupingOf(cfg, q.by, b)
	if err != nil {
		return nil, err
	}
	v := &effects.View{PoP: cfg.PoP, Treatment: cfg.Treatment.Cong, From: c.From, To: c.To, Label: q.label, ChangeAt: c.ChangeAt}
	v.Fill(b.Report(by, effectSeed), q.by)
	v.FillLog(log)
	if f := metricsFinding(); f != nil {
		v.Findings = append(v.Findings, *f)
	}
	return v, done()
}

// effectSeed of the bootstrap: fixed, so that the same store gives the same answer.
const effectSeed = 1

func comparisonOf(ctx context.Context, cfg config.Config, s *sqlite.Store) (comparison.Config, error) {
	salt, ok, err := s.Setting(ctx, journal.SettingSalt)
	if !ok {
		salt = nil
	}
	return effects.ConfigOf(cfg, salt), err
}

// parseSince reads a duration back from now or a time.
func parseSince(s string, now time.Time) (time.Time, error) {
	if d, err := config.ParseDuration(s); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("--since %q: write a duration, as 24h or 7d, or a time, as 2026-11-20T12:00:00Z", s)
	}
	if !t.Before(now) {
		return t, fmt.Errorf("--since %q: not in the past", s)
	}
	return t, nil
}

func goodputDir(cfg config.Config) responses.Dir {
	return responses.Dir(filepath.Join(cfg.StateDir, "goodput"))
}

// keptResponses is the folder as effects wants it.
type keptResponses struct{ dir responses.Dir }

func (k keptResponses) Read(from, to int64, row func(*goodput.Row), settled func(*goodput.Batch)) (int, error) {
	torn, err := k.dir.Read(from, to, row, settled)
	return int(torn), err
}

// sysctls of the network namespace that this process is in.
var sysctls = "/proc/sys/net/ipv4/"

// metricsFinding reads this host's own network namespace.
func metricsFinding() *effects.Finding {
	read := func(name string) string {
		b, err := os.ReadFile(sysctls + name)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	return effects.MetricsFinding(read("tcp_no_metrics_save"), read("tcp_no_ssthresh_metrics_save"))
}
