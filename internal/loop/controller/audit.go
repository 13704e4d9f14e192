package controller

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/logline"
)

// KindAudit is an action of a person, done or refused: each has one such event, beside those of what it
// did.
const KindAudit = "audit"

// maxResult bounds the reason of a refusal, which may be a list of faults.
const maxResult = 400 // bytes

// Audited is the event of an action.
func Audited(a control.Act, now time.Time) journal.Event {
	result := "done"
	if a.Err != nil {
		result = logline.OneLine(a.Err.Error())
		if len(result) > maxResult {
			result = strings.ToValidUTF8(result[:maxResult], "") + "..."
		}
		result = "refused: " + result
	}
	what := strings.TrimSpace(a.Name + " " + a.Arg)
	return journal.Event{At: now.Unix(), Kind: KindAudit, Text: fmt.Sprintf("%s by %s: %s", what, a.By, result)}
}

// Audit keeps an action.
func (c *Controller) Audit(ctx context.Context, a control.Act) {
	now := c.now()
	more, tell := 0, true
	if a.Err != nil {
		if more, tell = c.refusals.count(a.By+" "+a.Name, now); !tell {
			return // the log has it
		}
	}
	e := Audited(a, now)
	if more > 0 {
		e.Text += fmt.Sprintf(" (and %d times more in the %s before)", more, refusedAgain)
	}
	if err := c.commit(ctx, &journal.Commit{Events: []journal.Event{e}}); err != nil {
		c.log.Error("not kept in the store: "+line(&e), "err", err)
	}
}

// A caller that is refused again and again must not fill the disk: of its attempts at one action one
// every refusedAgain is an event, which counts the others.
const (
	refusedAgain = 10 * time.Second
	maxRefused   = 1000 // callers and actions to tell apart; then all are forgotten
)

type refusals struct {
	mu   sync.Mutex
	seen map[string]refusal
}

type refusal struct {
	at   time.Time
	more int
}

// count reports whether a refusal is to be told, and how many before it were not.
func (r *refusals) count(what string, now time.Time) (more int, tell bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.seen[what]
	if since := now.Sub(was.at); known && since >= 0 && since < refusedAgain {
		was.more++
		r.seen[what] = was
		return 0, false
	}
	if r.seen == nil || len(r.seen) >= maxRefused {
		r.seen = map[string]refusal{}
	}
	r.seen[what] = refusal{at: now}
	return was.more, true
}
