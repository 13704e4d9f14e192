package lab

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	barCells = 24                     // characters
	redraw   = 200 * time.Millisecond // a terminal over a slow line keeps up with five lines a second
)

// screen is a meter's output: on a terminal a picture of some lines that is redrawn, with
// lasting lines above it; otherwise only lasting lines. Its owner locks it.
type screen struct {
	out      io.Writer
	terminal bool
	width    int // of the terminal; 0: not known. A line that wraps could not be wiped
	now      func() time.Time
	drawn    time.Time
	lines    int // of the picture that stands
}

// draw shows a picture; those that come too soon after the last are left out, unless at once.
func (s *screen) draw(atOnce bool, picture func(at time.Time) string) {
	at := s.now()
	if !s.terminal || (!atOnce && at.Sub(s.drawn) < redraw) {
		return
	}
	s.drawn = at
	text := s.narrow(picture(at))
	s.wipe()
	s.lines = 1 + strings.Count(text, "\n")
	fmt.Fprint(s.out, text)
}

// stay prints a lasting line. The picture is gone until it is drawn again.
func (s *screen) stay(format string, args ...any) {
	if s.terminal {
		s.wipe()
	}
	fmt.Fprintf(s.out, format+"\n", args...)
}

// end leaves the last picture standing.
func (s *screen) end(picture func(at time.Time) string) {
	if s.terminal {
		s.draw(true, picture)
		fmt.Fprintln(s.out)
		s.lines = 0
	}
}

// narrow cuts lines off at the edge.
func (s *screen) narrow(text string) string {
	if s.width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = l[:min(len(l), s.width-1)] // ASCII
	}
	return strings.Join(lines, "\n")
}

func (s *screen) wipe() {
	fmt.Fprint(s.out, strings.Repeat("\r\033[K\033[1A", max(s.lines-1, 0))+"\r\033[K")
	s.lines = 0
}

func bar(share float64) string {
	full := int(barCells * min(max(share, 0), 1))
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barCells-full) + "]"
}
