package control

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/congctl/congctl/internal/loop/logline"
)

// A caller who is refused again and again must not fill the disk, nor drive the lines of others out of a log that is
// bounded itself. So of all callers together so many refusals a second have a line, and the next line counts the others.
const (
	refusalsPerS = 10
	// maxRefusal bytes of a line: the longest name of a caller, what it asked for and why not.
	maxRefusal = 500
	ofTheLog   = 150 // of those: time, level, PoP, how many more
	ofWhom     = 190 // of the rest
)

// Refusals are the lines about refusals of a process. Several goroutines may use them.
type Refusals struct {
	Log *slog.Logger

	mu           sync.Mutex // guards these
	second       int64      // of the last line
	told, untold int        // in it, and since the last line
}

// Say logs a line, cut to its length, unless there were too many.
func (r *Refusals) Say(text string) {
	if tail, ok := r.next(time.Now()); ok {
		r.Log.Warn(clip(text, maxRefusal-ofTheLog) + tail)
	}
}

// Action is Say for an action that failed.
func (r *Refusals) Action(ctx context.Context, a Act) {
	if tail, ok := r.next(time.Now()); ok {
		r.Log.ErrorContext(ctx, clip(a.Name+", asked by "+a.By, ofWhom)+tail, "err", clip(a.Err.Error(), maxRefusal-ofTheLog-ofWhom))
	}
}

// next reports whether a refusal has a line, and the end of that line.
func (r *Refusals) next(now time.Time) (tail string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := now.Unix(); s != r.second {
		r.second, r.told = s, 0
	}
	if r.told++; r.told > refusalsPerS {
		r.untold++
		return "", false
	}
	if r.untold > 0 {
		tail = fmt.Sprintf(" (and %d more before)", r.untold)
		r.untold = 0
	}
	return tail, true
}

// clip returns at most so many bytes of a text on one line, without what a terminal would obey. The log writes two bytes
// for a quote or a backslash.
func clip(s string, most int) string {
	var b strings.Builder
	for _, c := range logline.OneLine(s[:min(len(s), 4*most)]) {
		if !unicode.IsPrint(c) {
			c = '?'
		}
		n := len(string(c))
		if c == '"' || c == '\\' {
			n = 2
		}
		if most -= n; most < len("...") {
			return b.String() + "..."
		}
		b.WriteRune(c)
	}
	return b.String()
}
