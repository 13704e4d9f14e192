package lab

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// DayMeter shows how far the runs of a day are. On a terminal each run in progress has a
// line, which is redrawn; elsewhere each quarter of a run has one that stays. A run that
// ends has one that stays on both.
type DayMeter struct {
	total int

	mu     sync.Mutex // guards all below
	screen screen
	done   int
	live   []*liveDay
}

type liveDay struct {
	DayRun
	Progress
	began time.Time
}

// NewDayMeter starts to measure that many runs. width is the terminal's, in characters;
// 0 where it is not known.
func NewDayMeter(runs int, out io.Writer, terminal bool, width int, now func() time.Time) *DayMeter {
	return &DayMeter{total: runs, screen: screen{out: out, terminal: terminal, width: width, now: now}}
}

// quarters is how often a run without a terminal says how far it is.
const quarters = 4

// begin notes a run and returns the functions that its world calls.
func (m *DayMeter) begin(r DayRun) (progress func(Progress), note func(string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &liveDay{r, Progress{Selected: NoSelection}, m.screen.now()}
	m.live = append(m.live, l)
	m.screen.draw(false, m.picture)
	progress = func(p Progress) {
		m.mu.Lock()
		defer m.mu.Unlock()
		before := l.quarter()
		if l.Progress = p; !m.screen.terminal && l.quarter() > before {
			m.screen.stay("%s: %s", r, l.words(m.screen.now()))
		}
		m.screen.draw(false, m.picture)
	}
	note = func(text string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.screen.stay("%s: %s", r, text)
		m.screen.draw(true, m.picture)
	}
	return progress, note
}

// end notes a run that ended; its facts are zero where it was kept from before.
func (m *DayMeter) end(p passed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live = slices.DeleteFunc(m.live, func(l *liveDay) bool { return l.DayRun == p.DayRun })
	m.done++
	text := p.facts.words()
	switch {
	case p.err != nil:
		what, _, _ := strings.Cut(p.err.Error(), "\n")
		text = "FAILED: " + strings.TrimSuffix(what, ":")
	case p.facts.Wall == 0:
		text = "kept from before"
	}
	m.screen.stay("%d/%d %s: %s", m.done, m.total, p.DayRun, text)
	m.screen.draw(true, m.picture)
}

// Close wipes the lines of runs in progress: what ended has said so.
func (m *DayMeter) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.screen.terminal {
		m.screen.wipe()
	}
}

// picture is a line for each run in progress, in the order in which they began.
func (m *DayMeter) picture(at time.Time) string {
	lines := make([]string, len(m.live))
	for i, l := range m.live {
		lines[i] = fmt.Sprintf("%-10s %s %s", l.DayRun, bar(l.share()), l.words(at))
	}
	return strings.Join(lines, "\n")
}

// share of the day that has passed.
func (l *liveDay) share() float64 {
	if l.End == 0 {
		return 0
	}
	return float64(l.At) / float64(l.End)
}

func (l *liveDay) quarter() int { return int(l.share() * quarters) }

// words say where the day is and, when a twentieth has passed, what is left if the rest
// takes as long.
func (l *liveDay) words(at time.Time) string {
	if l.End == 0 {
		return "begins"
	}
	text := fmt.Sprintf("%s of %s", clock(l.At), clock(l.End))
	if l.Selected != NoSelection {
		text += fmt.Sprintf(", %d selected", l.Selected)
	}
	if s, real := l.share(), at.Sub(l.began); s >= 0.05 && s < 1 {
		text += fmt.Sprintf(", about %s left", short(time.Duration(float64(real)*(1-s)/s)))
	}
	return text
}

// clock is a time of the day as 1:04.
func clock(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Hours()), int(d.Minutes())%60)
}
