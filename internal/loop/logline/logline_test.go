package logline

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var at = time.Date(2026, 11, 20, 10, 0, 0, 123_000_000, time.FixedZone("east", 3600))

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"terminal", Options{}, `2026-11-20T09:00:00Z INFO  selected 203.0.113.0/24: slow
2026-11-20T09:00:00Z WARN  poll: line 1: a; line 2: b
2026-11-20T09:00:00Z ERROR plain
`},
		{"journald", Options{Journal: true}, `<6>selected 203.0.113.0/24: slow
<4>poll: line 1: a; line 2: b
<3>plain
`},
		{"journald, warnings", Options{Journal: true, Level: slog.LevelWarn}, `<4>poll: line 1: a; line 2: b
<3>plain
`},
		{"JSON", Options{JSON: true}, `{"time":"2026-11-20T09:00:00Z","level":"INFO","msg":"selected 203.0.113.0/24: slow","event":"selected"}
{"time":"2026-11-20T09:00:00Z","level":"WARN","msg":"poll","err":"line 1: a\nline 2: b\n"}
{"time":"2026-11-20T09:00:00Z","level":"ERROR","msg":"plain"}
`},
		{"JSON to journald", Options{JSON: true, Journal: true}, `<6>{"level":"INFO","msg":"selected 203.0.113.0/24: slow","event":"selected"}
<4>{"level":"WARN","msg":"poll","err":"line 1: a\nline 2: b\n"}
<3>{"level":"ERROR","msg":"plain"}
`},
		{"debug to journald", Options{Journal: true, Level: slog.LevelDebug}, `<7>refused
<6>selected 203.0.113.0/24: slow
<4>poll: line 1: a; line 2: b
<3>plain
`},
	} {
		var b strings.Builder
		h := New(&b, c.o).Handler()
		for _, r := range []struct {
			level slog.Level
			msg   string
			attr  slog.Attr
		}{
			{slog.LevelDebug, "refused", slog.Attr{}},
			{slog.LevelInfo, "selected 203.0.113.0/24: slow", slog.String("event", "selected")},
			{slog.LevelWarn, "poll", slog.Any("err", errors.New("line 1: a\nline 2: b\n"))},
			{slog.LevelError, "plain", slog.Attr{}},
		} {
			rec := slog.NewRecord(at, r.level, r.msg, 0)
			rec.AddAttrs(r.attr)
			if !h.Enabled(t.Context(), r.level) {
				continue
			}
			if err := h.Handle(t.Context(), rec); err != nil {
				t.Error(err)
			}
		}
		if b.String() != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, b.String(), c.want)
		}
	}
}

// A line is one write, whoever else writes: journald takes each for an entry.
func TestLinesStayWhole(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	var reader, writers sync.WaitGroup
	reader.Go(func() { all, _ = io.ReadAll(r) })
	log := New(w, Options{Journal: true})
	for i := range 8 {
		writers.Go(func() {
			for range 100 {
				log.With("i", i).Info(strings.Repeat(fmt.Sprint(i), 200))
			}
		})
	}
	writers.Wait()
	w.Close()
	reader.Wait()
	lines := strings.Split(strings.TrimSuffix(string(all), "\n"), "\n")
	for _, l := range lines {
		if len(l) != 203 || strings.Trim(l[3:], l[3:4]) != "" {
			t.Fatalf("torn line %q", l)
		}
	}
	if len(lines) != 800 {
		t.Errorf("%d lines, want 800", len(lines))
	}
}

// TestToJournal is the protocol of systemd.exec(5), on what systemd connects, a
// stream socket, and on what a shell puts in its place.
func TestToJournal(t *testing.T) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	socket, peer := os.NewFile(uintptr(pair[0]), "stderr"), os.NewFile(uintptr(pair[1]), "journald")
	defer socket.Close()
	defer peer.Close()
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer pipe.Close()
	named := func(f *os.File) string {
		var st syscall.Stat_t
		if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	for _, c := range []struct {
		name, stream string
		f            *os.File
		want         bool
	}{
		{"the stream", named(socket), socket, true},
		{"a pipe as the stream", named(pipe), pipe, true},
		{"redirected by a parent", named(socket), pipe, false},
		{"the peer's end", named(peer), socket, false},
		{"not under systemd", "", socket, false},
		{"no such form", "1", socket, false},
	} {
		if got := ToJournal(c.f, c.stream); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	socket.Close()
	if ToJournal(socket, named(pipe)) {
		t.Error("a closed file is the journal")
	}
}
