package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// screen is where the demo talks: its report to standard output, its progress to
// standard error, where a terminal gets one line that changes and a file gets a
// line every ten seconds.
type screen struct {
	out, progress io.Writer
	terminal      bool
	last          time.Time
}

const plainEvery = 10 * time.Second

func newScreen() *screen {
	_, err := unix.IoctlGetTermios(int(os.Stderr.Fd()), unix.TCGETS)
	return &screen{out: os.Stdout, progress: os.Stderr, terminal: err == nil}
}

func (s *screen) say(format string, a ...any) { fmt.Fprintf(s.out, format+"\n", a...) }

// title heads a part of the report.
func (s *screen) title(format string, a ...any) {
	t := fmt.Sprintf(format, a...)
	s.say("\n%s\n%s", t, strings.Repeat("-", len(t)))
}

// shell shows what a verb of congctl printed, at most so many lines of it.
func (s *screen) shell(command, out string, most int) {
	s.say("\n$ %s", command)
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	for i, l := range lines {
		if i == most {
			s.say("... (%d lines more)", len(lines)-most)
			return
		}
		s.say("%s", l)
	}
}

// tick shows progress.
func (s *screen) tick(now time.Time, format string, a ...any) {
	line := fmt.Sprintf(format, a...)
	if s.terminal {
		fmt.Fprintf(s.progress, "\r\x1b[K%s", line)
		return
	}
	if now.Sub(s.last) >= plainEvery {
		s.last = now
		fmt.Fprintln(s.progress, line)
	}
}

// clear ends a line of progress.
func (s *screen) clear() {
	if s.terminal {
		fmt.Fprint(s.progress, "\r\x1b[K")
	}
}
