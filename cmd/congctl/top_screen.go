//go:build !small

package main

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/top"
)

const (
	// topFPS: keys are followed at this rate; without keys only an answer changes the screen.
	topFPS = 10
	// topRest: a question that took long waits this many times as long before the next, so that
	// top takes at most a tenth of a core here, and of the process that answers.
	topRest = 9
)

// topScreen joins the model to a terminal. Each question is asked beside it, so that neither a
// slow answer nor a long dump holds up a key.
type topScreen struct {
	source *topSource
	view   control.View
	ctx    context.Context // of the program: a bubbletea command has none of its own
	every  time.Duration
	model  *top.Model
}

// What questions bring.
type (
	topAnswered struct {
		state    top.State
		networks []top.Network
		err      error
		took     time.Duration
	}
	topDumped struct {
		conns []top.Conn
		err   error
		took  time.Duration
	}
	topExplained struct {
		network record.Prefix
		text    string
	}
	topAsk  struct{}
	topDump struct{}
	topTick struct{}
)

// Init implements tea.Model.
func (s *topScreen) Init() tea.Cmd {
	s.model.Tick(time.Now())
	if s.source.g.pop != "" {
		return tea.Batch(s.ask, s.tick())
	}
	return tea.Batch(s.ask, s.dump, s.tick())
}

// Update implements tea.Model.
func (s *topScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now := time.Now()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.model.Resize(msg.Width, msg.Height)
	case tea.PasteMsg:
		s.model.Type(msg.Content)
	case tea.KeyPressMsg:
		return s, s.key(msg.String())
	case topTick:
		s.model.Tick(now)
		return s, s.tick()
	case topAsk:
		return s, tea.Batch(s.ask, s.explain(s.model.Detail()))
	case topAnswered:
		if msg.err != nil {
			s.model.Failed(now, troubleOf(msg.err))
		} else {
			s.model.Answered(now, msg.state, msg.networks)
		}
		return s, s.later(msg.took+time.Since(now), topAsk{})
	case topDump:
		return s, s.dump
	case topDumped:
		if msg.err != nil {
			s.model.NoDump(now, msg.err.Error())
		} else {
			s.model.Dumped(now, msg.conns)
		}
		return s, s.later(msg.took+time.Since(now), topDump{})
	case topExplained:
		s.model.Explained(msg.network, msg.text)
	}
	return s, nil
}

func (s *topScreen) key(name string) tea.Cmd {
	before := s.model.Detail()
	if s.model.Key(name) {
		return tea.Quit
	}
	if p := s.model.Detail(); p != before {
		return s.explain(p)
	}
	return nil
}

func (s *topScreen) tick() tea.Cmd {
	return tea.Tick(s.every, func(time.Time) tea.Msg { return topTick{} })
}

func (s *topScreen) later(took time.Duration, msg tea.Msg) tea.Cmd {
	return tea.Tick(max(s.every, topRest*took), func(time.Time) tea.Msg { return msg })
}

func (s *topScreen) ask() tea.Msg {
	start := time.Now()
	state, networks, err := s.source.answer(s.ctx, s.view)
	return topAnswered{state, networks, err, time.Since(start)}
}

func (s *topScreen) dump() tea.Msg {
	start := time.Now()
	conns, err := s.source.dump()
	return topDumped{conns, err, time.Since(start)}
}

func (s *topScreen) explain(p record.Prefix) tea.Cmd {
	if p == 0 {
		return nil
	}
	return func() tea.Msg {
		x, err := s.view.Explain(s.ctx, p)
		if err != nil {
			return topExplained{p, troubleOf(err).Text}
		}
		return topExplained{p, x.Text()}
	}
}

// View implements tea.Model.
func (s *topScreen) View() tea.View {
	var b strings.Builder
	for i, line := range s.model.View() {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(topStyles[line.Style] + line.Text)
		if topStyles[line.Style] != "" {
			b.WriteString("\x1b[m")
		}
	}
	v := tea.NewView(b.String())
	v.AltScreen = true
	return v
}

// topStyles are ECMA-48's. Colours of the 16 that a person's terminal sets, and of those blue
// and yellow, which the colour-blind can tell apart; bubbletea leaves them out by NO_COLOR.
var topStyles = map[top.Style]string{
	top.Title: "\x1b[1m", top.Head: "\x1b[7m", top.Cursor: "\x1b[1;7;34m", top.Alarm: "\x1b[1;33m", top.Faint: "\x1b[2m",
}
