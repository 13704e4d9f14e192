package effects

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/congctl/congctl/internal/goodput"
	"github.com/congctl/congctl/internal/goodput/accesslog"
	"github.com/congctl/congctl/internal/goodput/comparison"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Past is what the loop's store holds.
type Past interface {
	Heads(ctx context.Context, from, to int64) ([]journal.Head, error)
	Windows(ctx context.Context, from, to int64, row func(*record.Window) error) error
	Rounds(ctx context.Context, n int) ([]journal.Round, error)
}

// Responses is where goodput rows are kept. torn lines were lost in a crash.
type Responses interface {
	Read(from, to int64, row func(*goodput.Row), settled func(*goodput.Batch)) (torn int, err error)
}

// Log is what became of the lines of access logs.
type Log struct {
	Tally    accesslog.Tally
	BadLines uint64
	Dropped  uint64
	Torn     int
}

// lookBack before the first window: what networks did before they were chosen.
const lookBack = 3 * 3600

// Load fills a builder from the stores, and returns what the newest round knew of losses of others.
func Load(ctx context.Context, c comparison.Config, past Past, r Responses) (*comparison.Builder, policy.Turns, Log, error) {
	b := comparison.New(c)
	turns, err := loadRounds(ctx, b, c, past)
	if err != nil {
		return nil, turns, Log{}, err
	}
	heads, err := past.Heads(ctx, c.From-lookBack, c.To)
	if err != nil {
		return nil, turns, Log{}, err
	}
	for _, head := range heads {
		if head.Note != "" {
			b.Skip(head.Start)
		}
	}
	err = past.Windows(ctx, c.From-lookBack, c.To, func(w *record.Window) error {
		b.Window(w)
		return nil
	})
	if err != nil {
		return nil, turns, Log{}, err
	}
	var log Log
	log.Torn, err = r.Read(c.From, c.To, b.Goodput, func(end *goodput.Batch) {
		log.Tally.Add(end.Tally)
		log.BadLines += end.BadLine
		log.Dropped += end.Dropped
	})
	return b, turns, log, err
}

// loadRounds tells the builder which networks were selected, from the round before the first window on.
func loadRounds(ctx context.Context, b *comparison.Builder, c comparison.Config, past Past) (newest policy.Turns, err error) {
	n := int((c.To-c.From+lookBack)/c.WindowSeconds) + 2
	rounds, err := past.Rounds(ctx, n)
	if err != nil {
		return newest, err
	}
	for _, r := range slices.Backward(rounds) {
		var m policy.Memory
		if err := json.Unmarshal(r.SelectionJSON, &m); err != nil {
			return newest, fmt.Errorf("read round %d: %w", r.RoundStart, err)
		}
		b.Round(r.RoundStart, m.Selected)
		newest = m.Turns
	}
	return newest, nil
}

// ConfigOf is the experiment as a configuration runs it; without a salt arms are those of the rows.
func ConfigOf(cfg config.Config, salt []byte) comparison.Config {
	seconds := func(d time.Duration) int64 { return int64(d / time.Second) }
	c := comparison.Config{
		WindowSeconds: seconds(cfg.Window), BlockSeconds: seconds(cfg.Experiment.Block), WashoutSeconds: seconds(cfg.Experiment.Washout),
		Treatment: cfg.Treatment.Cong, GroupTrial: cfg.Policy.Trial.GroupTrial, GroupPromoted: cfg.Experiment.ControlEvery,
	}
	if salt != nil {
		holdout, aa := cfg.Experiment.Permille()
		group, drawn := cfg.Draws()
		c.Drawn, c.ArmOf = drawn, plan.NewDraws(salt, holdout, aa).ByPoP(group).Arm
	}
	return c
}
