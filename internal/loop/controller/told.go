package controller

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/logline"
	"github.com/congctl/congctl/internal/loop/policy"
)

// Kinds of events that are not the policy's (policy.EventKind) and that more than
// one place names.
const (
	KindReload        = "reload"
	KindReloadRefused = "reload-refused"
	KindAlarm         = "alarm-" // and what is wrong
	KindAlarmOver     = "alarm-over"
	kindStop          = "stop"
	kindPlanRefused   = "plan-refused"
	kindWindowAgain   = "window-again"
)

// commit writes to the store and logs each event that it has kept: the journal of the host
// and `congctl events` are one list, in the same words.
func (c *Controller) commit(ctx context.Context, r *journal.Commit) error {
	if err := c.store.CommitRound(ctx, r); err != nil {
		return err
	}
	logEvents(ctx, c.log, r.Events)
	return nil
}

// Tell keeps one event and logs it; where the store cannot keep it the log still
// has it.
func (c *Controller) Tell(ctx context.Context, kind, text string) error {
	return c.tell(ctx, kind, text, nil)
}

// tell is Tell with what else to remember of the event.
func (c *Controller) tell(ctx context.Context, kind, text string, remember map[string][]byte) error {
	e := journal.Event{At: c.now().Unix(), Kind: kind, Text: logline.OneLine(text)}
	err := c.commit(ctx, &journal.Commit{Events: []journal.Event{e}, Settings: remember})
	if err != nil {
		c.log.Error("not kept in the store: "+line(&e), "err", err)
	}
	return err
}

// maxLines of each kind and commit: a usual round selects fewer, and the first
// hour of a large PoP, or a brake, must not fill the journal.
const maxLines = 10

func logEvents(ctx context.Context, log *slog.Logger, events []journal.Event) {
	lines := map[string]int{}
	var kinds []string // in order
	for i := range events {
		e := &events[i]
		if lines[e.Kind]++; lines[e.Kind] == 1 {
			kinds = append(kinds, e.Kind)
		}
		if lines[e.Kind] > maxLines {
			continue
		}
		attrs := []slog.Attr{slog.String("event", e.Kind)}
		if e.Prefix != 0 {
			attrs = append(attrs, slog.String("prefix", e.Prefix.String()))
		}
		log.LogAttrs(ctx, levelOf(e.Kind), line(e), attrs...)
	}
	for _, kind := range kinds {
		if more := lines[kind] - maxLines; more > 0 {
			log.LogAttrs(ctx, levelOf(kind), fmt.Sprintf("and %d more %s: see congctl events", more, kind), slog.String("event", kind), slog.Int("more", more))
		}
	}
}

// line is an event as a person reads it.
func line(e *journal.Event) string {
	if e.Prefix == 0 {
		return e.Kind + ": " + e.Text
	}
	return fmt.Sprintf("%s %s: %s", e.Kind, e.Prefix, e.Text)
}

// levelOf: an error is what keeps a decision from being carried out or ends all
// treatment unasked, a warning what an operator should look at, debug what changes nothing.
func levelOf(kind string) slog.Level {
	switch kind {
	case string(policy.EventBrake), kindPlanRefused, KindReloadRefused, KindAlarm + "round":
		return slog.LevelError
	case kindStop, string(policy.EventReset), string(policy.EventIgnored), string(policy.EventEvicted), kindWindowAgain:
		return slog.LevelWarn
	case string(policy.EventRefused), KindAudit: // what was done is told in its own words
		return slog.LevelDebug
	case KindAlarmOver:
		return slog.LevelInfo
	}
	if strings.HasPrefix(kind, KindAlarm) {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// logRound says that the loop decides, which a quiet journal would leave open.
func (c *Controller) logRound(ctx context.Context, d policy.Decision) {
	text := fmt.Sprintf("round of %s: %d networks known, %d ranked, %d in the group; %d in the plan, %d new, %d released",
		time.Unix(d.RoundStart, 0).UTC().Format(time.RFC3339), d.Known, d.Ranked, d.InGroup, d.Selected, d.New, d.Released)
	if d.Note != "" {
		text += "; " + d.Note
	}
	c.log.LogAttrs(ctx, slog.LevelInfo, text, slog.Int("known", d.Known), slog.Int("ranked", d.Ranked),
		slog.Int("in_group", d.InGroup), slog.Int("selected", d.Selected), slog.Int("new", d.New), slog.Int("released", d.Released))
}
