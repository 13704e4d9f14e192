package lab

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/core/pop"
)

// DayMeter tells how far the runs of a day are: on a terminal a bar for all with a line
// for each run in progress, drawn over; else a line for each twentieth of a run and one for
// its end.
type DayMeter struct {
	name  string
	total int

	mu           sync.Mutex // guards all below
	screen       screen
	began        time.Time
	done, failed int
	before       int           // of done: kept from before
	virtual      time.Duration // of the runs that ended in this call
	live         []*liveDay
}

type liveDay struct {
	DayRun
	pop.Progress
}

// NewDayMeter starts to measure that many runs. width is the terminal's, in characters;
// 0 where it is not known.
func NewDayMeter(name string, runs int, out io.Writer, terminal bool, width int, now func() time.Time) *DayMeter {
	return &DayMeter{name: name, total: runs, screen: screen{out: out, terminal: terminal, width: width, now: now}, began: now()}
}

// begin notes a run and gives what its world is to call.
func (m *DayMeter) begin(r DayRun) (progress func(pop.Progress), note func(string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &liveDay{r, pop.Progress{Selected: pop.Nobody}}
	m.live = append(m.live, l)
	m.screen.draw(false, m.picture)
	progress = func(p pop.Progress) {
		m.mu.Lock()
		defer m.mu.Unlock()
		l.Progress = p
		if !m.screen.terminal {
			m.screen.stay("%s: %s", r, p)
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
	for i, l := range m.live {
		if l.DayRun == p.DayRun {
			m.live = append(m.live[:i], m.live[i+1:]...)
			break
		}
	}
	m.done++
	m.virtual += p.facts.Virtual
	switch {
	case p.err != nil:
		m.failed++
		what, _, _ := strings.Cut(p.err.Error(), "\n")
		m.stay(p.DayRun, "FAILED: "+strings.TrimSuffix(what, ":"))
	case p.facts.Wall == 0:
		m.before++
		m.stay(p.DayRun, "kept from before")
	default:
		m.stay(p.DayRun, p.facts.words())
	}
	m.screen.draw(true, m.picture)
}

func (m *DayMeter) stay(r DayRun, text string) {
	m.screen.stay("%d/%d %s: %s", m.done, m.total, r, text)
}

// Close leaves the last state on the terminal and ends its line.
func (m *DayMeter) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live = nil
	m.screen.end(m.picture)
}

// picture is the bar, and a line for each run in progress.
func (m *DayMeter) picture(at time.Time) string {
	var b strings.Builder
	share := m.share()
	fmt.Fprintf(&b, "%s %s %d/%d days", m.name, bar(share), m.done, m.total)
	if m.failed > 0 {
		fmt.Fprintf(&b, ", %d FAILED", m.failed)
	}
	m.pace(&b, at.Sub(m.began))
	for _, l := range m.live {
		fmt.Fprintf(&b, "\n  %-10s ", l.DayRun)
		if l.End == 0 {
			b.WriteString("begins")
		} else {
			b.WriteString(l.Progress.String())
		}
	}
	return b.String()
}

// share of all work that is done.
func (m *DayMeter) share() float64 {
	done := float64(m.done)
	for _, l := range m.live {
		if l.End > 0 {
			done += float64(l.At) / float64(l.End)
		}
	}
	return done / float64(max(m.total, 1))
}

// pace says how fast time passes and, when a twentieth of the work is done, what is left
// if the rest takes as long.
func (m *DayMeter) pace(b *strings.Builder, real time.Duration) {
	virtual := m.virtual
	for _, l := range m.live {
		virtual += l.At
	}
	fmt.Fprintf(b, ", %s virtual, %s real time", short(virtual), times(virtual, real))
	kept := float64(m.before) / float64(max(m.total, 1))
	if mine := (m.share() - kept) / (1 - kept); mine >= 0.05 && mine < 1 {
		fmt.Fprintf(b, ", about %s left", short(time.Duration(float64(real)*(1-mine)/mine)))
	}
}
