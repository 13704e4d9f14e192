package lab

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/lab/outcome"
)

// Meter shows how far a scenario is: on a terminal a bar that is redrawn, otherwise a line
// for each finished run.
type Meter struct {
	name string

	mu         sync.Mutex // guards all below
	screen     screen
	began      time.Time
	done, left int
	invalid    int
	ran        int           // of done: those not kept from before
	virtual    time.Duration // of the finished runs
	live       map[turn]time.Duration
}

// NewMeter starts to measure.
func NewMeter(name string, out io.Writer, terminal bool, now func() time.Time) *Meter {
	return &Meter{name: name, screen: screen{out: out, terminal: terminal, now: now}, began: now(), live: map[turn]time.Duration{}}
}

// begin notes a run and returns what its world is to call.
func (m *Meter) begin(t turn, left int) func(time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = left
	m.live[t] = 0
	m.screen.draw(false, m.picture)
	return func(virtual time.Duration) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if _, ok := m.live[t]; ok {
			m.live[t] = virtual
			m.screen.draw(false, m.picture)
		}
	}
}

// end notes a result; facts are zero where the run was kept from before.
func (m *Meter) end(t turn, r outcome.Result, facts Facts, left int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.live, t)
	m.done++
	m.left = left
	m.virtual += facts.Virtual
	if !r.Valid {
		m.invalid++
	}
	if facts.Wall > 0 {
		m.ran++
	}
	if !m.screen.terminal || !r.Valid {
		m.screen.stay("%d/%d %s seed %d: %s", m.done, m.done+m.left, r.Cell, r.Seed, verdict(r, facts))
	}
	m.screen.draw(true, m.picture)
}

// Close leaves the last state on the terminal and ends its line.
func (m *Meter) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.screen.end(m.picture)
}

func verdict(r outcome.Result, f Facts) string {
	text := "kept from an earlier run"
	if f.Wall > 0 {
		text = f.words()
	}
	if r.Valid {
		return text
	}
	for _, g := range r.Gates {
		if !g.OK && g.Exempt == "" {
			text += fmt.Sprintf("; INVALID: %s is %s, wanted %s", g.Name, g.Got, g.Want)
		}
	}
	return text
}

// picture returns the bar. It assumes that each remaining run takes as long as the
// finished ones.
func (m *Meter) picture(at time.Time) string {
	real, virtual := at.Sub(m.began), m.virtual
	for _, v := range m.live {
		virtual += v
	}
	text := fmt.Sprintf("%s %s %d/%d runs, %s virtual, %s real time", m.name, bar(float64(m.done)/float64(max(m.done+m.left, 1))),
		m.done, m.done+m.left, short(virtual), times(virtual, real))
	if m.invalid > 0 {
		text += fmt.Sprintf(", %d INVALID", m.invalid)
	}
	if m.ran > 0 && m.left > 0 {
		text += fmt.Sprintf(", about %s left", short(real/time.Duration(m.ran)*time.Duration(m.left)))
	}
	return text
}

func (f Facts) words() string {
	text := fmt.Sprintf("%s virtual in %s (%s real time)", short(f.Virtual), short(f.Wall), times(f.Virtual, f.Wall))
	if f.CPU > 0 {
		text += fmt.Sprintf(", %s of CPU", short(f.CPU))
	}
	return text
}

func times(virtual, real time.Duration) string {
	if real <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f x", float64(virtual)/float64(real))
}

// short is d with three figures or so.
func short(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
