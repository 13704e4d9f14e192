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
	e := Audited(a, now)
	if a.Err != nil {
		who, pause := a.By+" "+a.Name, refusedAgain
		if a.Stranger {
			who, pause = "", strangersAgain
		}
		more, since, tell := c.refusals.count(who, now, pause)
		if !tell {
			return
		}
		if more > 0 {
			e.Text += fmt.Sprintf(" (and %d times more in the %s before)", more, since)
		}
	}
	if err := c.commit(ctx, &journal.Commit{Events: []journal.Event{e}}); err != nil {
		c.log.Error("not kept in the store: "+line(&e), "err", err)
	}
}

// A caller that is refused again and again must not fill the disk. Of its attempts at one action the first is an event,
// and if it goes on, one after refusedAgain, after twice that, and so on up to one each rarest: some thirty a day, each
// of which counts the others. Strangers can have any number of names, so they are counted as one: five a day.
const (
	refusedAgain   = 10 * time.Second
	rarest         = time.Hour
	strangersAgain = 6 * time.Hour
	maxRefused     = 1000 // callers and actions to tell apart; then all are forgotten
)

type refusals struct {
	mu   sync.Mutex
	seen map[string]refusal
}

type refusal struct {
	at    time.Time     // of the last event
	pause time.Duration // after it
	more  int           // refusals since
}

// count reports whether a refusal is to be told, and how many since the one before were not, in which time.
func (r *refusals) count(who string, now time.Time, pause time.Duration) (more int, since time.Duration, tell bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.seen[who]
	since = now.Sub(was.at)
	if known && since >= 0 && since < was.pause {
		was.more++
		r.seen[who] = was
		return 0, 0, false
	}
	if r.seen == nil || len(r.seen) >= maxRefused {
		r.seen = map[string]refusal{}
	}
	if was.more > 0 {
		pause = max(pause, min(2*was.pause, rarest))
	}
	r.seen[who] = refusal{at: now, pause: pause}
	return was.more, since.Round(time.Second), true
}
