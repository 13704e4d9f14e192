// Package logline writes the log of `congctl up`: a slog handler whose text is
// one sentence a line, and which speaks to systemd-journald in its own terms.
//
// It does not decide what is logged: loop/controller logs each event that it
// keeps, and the loops log their faults.
//
// Its trap: text shows a record's message and its "err" and nothing else, so
// every message must be whole. The other attributes are for log.format json.
package logline

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options of a log.
type Options struct {
	Level   slog.Level
	JSON    bool
	Journal bool // journald reads: it has the time, and takes the level from the line's head
}

// New returns a logger that writes one line a record to w.
func New(w io.Writer, o Options) *slog.Logger {
	h := &handler{opt: o, out: &output{w: w}}
	h.json = slog.NewJSONHandler(&h.out.line, &slog.HandlerOptions{Level: o.Level, ReplaceAttr: h.attr})
	return slog.New(h)
}

// ToJournal reports whether f is what systemd connected to the journal.
// JOURNAL_STREAM, as systemd.exec(5) defines it, is "device:inode" of the stream,
// in decimal. That the variable is set says nothing: children inherit it.
func ToJournal(f *os.File, journalStream string) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && journalStream == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// output is shared by all handlers of one log.
type output struct {
	mu   sync.Mutex // guards all below
	w    io.Writer
	line bytes.Buffer
}

type handler struct {
	opt  Options
	out  *output
	json slog.Handler // writes to out.line
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.opt.Level }

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(a []slog.Attr) slog.Handler {
	return &handler{h.opt, h.out, h.json.WithAttrs(a)}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.opt, h.out, h.json.WithGroup(name)}
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	b := &h.out.line
	b.Reset()
	if h.opt.Journal {
		fmt.Fprintf(b, "<%d>", priority(r.Level))
	}
	if !h.opt.JSON {
		h.text(b, r)
	} else if err := h.json.Handle(ctx, r); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	if _, err := h.out.w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	return nil
}

func (h *handler) text(b *bytes.Buffer, r slog.Record) {
	if !h.opt.Journal {
		fmt.Fprintf(b, "%s %-5s ", r.Time.UTC().Format(time.RFC3339), r.Level)
	}
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" {
			text += ": " + a.Value.String()
		}
		return true
	})
	fmt.Fprintln(b, OneLine(text))
}

// attr makes JSON speak as the text does: UTC, no time where journald has it.
func (h *handler) attr(groups []string, a slog.Attr) slog.Attr {
	if a.Key != slog.TimeKey || len(groups) > 0 {
		return a
	}
	if h.opt.Journal {
		return slog.Attr{}
	}
	return slog.String(a.Key, a.Value.Time().UTC().Format(time.RFC3339))
}

// priority is the level of sd-daemon(3), which is syslog's.
func priority(l slog.Level) int {
	switch {
	case l >= slog.LevelError:
		return 3 // SD_ERR
	case l >= slog.LevelWarn:
		return 4 // SD_WARNING
	case l >= slog.LevelInfo:
		return 6 // SD_INFO
	}
	return 7 // SD_DEBUG
}

// OneLine joins the lines of a text, such as several faults, with semicolons: to
// journald each line is an entry of its own.
func OneLine(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}
