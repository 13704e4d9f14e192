package top

import (
	"fmt"
	"strings"
	"time"
)

// Style is how a line looks. Each is more than a colour: what it means is in its text, too.
type Style int

// Styles of lines.
const (
	Plain  Style = iota
	Title        // bold
	Head         // reverse
	Cursor       // reverse
	Alarm        // bold; the text begins with "!"
	Faint        // what is old, and the keys
)

// Line is one of the screen.
type Line struct {
	Text  string
	Style Style
}

// View is the screen: at most as many lines as it has, none of them wider.
func (m *Model) View() []Line {
	if m.width <= 0 || m.height <= 0 {
		return nil
	}
	m.join()
	top, foot := m.above(), Line{m.foot(), Faint}
	lines := append(top, m.body(m.height-len(top)-1)...)
	for len(lines) < m.height-1 {
		lines = append(lines, Line{})
	}
	lines = append(lines[:max(0, m.height-1)], foot)
	if m.height == 1 {
		lines = top[:1]
	}
	for i := range lines {
		lines[i].Text = cut(lines[i].Text, m.width)
	}
	return lines
}

// above is what stands above the tables.
func (m *Model) above() []Line {
	lines := []Line{{m.title(), Title}}
	if m.detail == 0 && !m.help {
		lines = append(lines, m.totalLines(min(4, (m.height-10)/3))...)
	}
	if text := m.alarm(); text != "" && m.height > 3 {
		lines = append(lines, Line{"! " + text, Alarm})
	}
	return lines
}

func (m *Model) body(height int) []Line {
	switch {
	case height <= 0:
		return nil
	case m.help:
		return plain(helpText, height)
	case m.detail != 0:
		all := m.detailLines()
		return plain(all[min(m.scroll, len(all)):], height)
	}
	shown, all := m.pane().shows()
	if shown > 0 {
		return m.pane().lines(m.width, height)
	}
	return plain(append([]string{""}, m.empty(all)...), height)
}

func plain(text []string, height int) (lines []Line) {
	for _, s := range text[:min(height, len(text))] {
		lines = append(lines, Line{Text: s})
	}
	return lines
}

// title says what is shown, and on the right when and how old it is.
func (m *Model) title() string {
	left := "congctl top"
	if s := &m.state; !m.answered.IsZero() {
		left = fmt.Sprintf("%s  %s  plan %d  %d networks", left, clean(s.PoP), s.Plan, len(m.networks))
		if n := m.treated(); n > 0 {
			left += fmt.Sprintf(", %d treated now", n)
		}
	}
	right := m.age() + m.now.UTC().Format("15:04:05Z")
	if n := m.width - widthOf(left) - widthOf(right); n > 1 {
		return left + strings.Repeat(" ", n) + right
	}
	return pad(left, m.width-widthOf(right)-2, false) + "  " + right
}

// age is empty while answers come in time.
func (m *Model) age() string {
	at := m.answered
	if m.onConn {
		at = m.dumped
	}
	age := m.now.Sub(at)
	switch {
	case m.paused:
		return "paused  "
	case at.IsZero():
		return ""
	case age > 2*m.opt.Every+time.Second && age > 10*time.Second:
		return fmt.Sprintf("answer %s old  ", age.Truncate(time.Second))
	}
	return ""
}

func (m *Model) treated() (n int) {
	for i := range m.networks {
		if t := m.networks[i].Treatment; t != "" && m.state.runs(&m.networks[i]) == t {
			n++
		}
	}
	return n
}

// alarm is the one thing to know first.
func (m *Model) alarm() string {
	s := &m.state
	switch {
	case m.trouble.Text != "" && !m.answered.IsZero():
		return clean(fmt.Sprintf("%s old: %s", m.now.Sub(m.answered).Truncate(time.Second), m.trouble.Text))
	case m.answered.IsZero():
		return ""
	case s.Stopped:
		return "stopped: nothing new is treated; undo: congctl resume"
	case len(s.Alarms) > 1:
		return clean(fmt.Sprintf("%s (and %d more: congctl status)", s.Alarms[0], len(s.Alarms)-1))
	case len(s.Alarms) == 1:
		return clean(s.Alarms[0])
	case s.Frozen:
		return "frozen: the plan stays as it is; undo: congctl plan unfreeze"
	}
	return ""
}

// totalLines are the totals of each congestion control, the first n.
func (m *Model) totalLines(n int) []Line {
	if n < 1 || len(m.totals) == 0 {
		return nil
	}
	lines := []Line{{fmt.Sprintf("%-10s %11s %12s %9s %9s", "", "networks", "connections", "Mbit/s", "retrans"), Faint}}
	if !m.opt.Host {
		lines[0].Text = fmt.Sprintf("%-10s %11s", "", "networks")
	}
	for i := range m.totals[:min(n, len(m.totals))] {
		t := &m.totals[i]
		text := pad(clean(t.Cong), 10, false) + fmt.Sprintf(" %11d", t.Networks)
		if m.opt.Host {
			text += fmt.Sprintf(" %12d %9.1f %9s", t.Connections, t.PerS*8/1e6, share(t.BytesRetrans, t.BytesSent))
		}
		lines = append(lines, Line{Text: text})
	}
	return append(lines, Line{})
}

func (m *Model) foot() string {
	p := m.pane()
	shown, all := p.shows()
	switch {
	case m.help:
		return "any key: back"
	case m.detail != 0:
		return "Esc back  ↓↑ scroll  q quit"
	case m.typing:
		return fmt.Sprintf("filter: %s_  (%d of %d)  Enter keep  Esc clear", tailOf(p.filter(), m.width-40), shown, all)
	}
	other := "Tab connections  "
	if m.onConn {
		other = "Tab networks  "
	} else if !m.opt.Host {
		other = ""
	}
	text := "? help  q quit  " + other + "<> sort " + p.sorted() + "  r reverse  / find  Enter why"
	if p.filter() != "" {
		text = fmt.Sprintf("filter %q: %d of %d, Esc clears  ", tailOf(p.filter(), 20), shown, all) + text
	}
	return text
}

// tailOf keeps the end of a text that is being typed.
func tailOf(s string, width int) string {
	for r := []rune(s); widthOf(s) > max(width, 8); s = string(r) {
		r = r[1:]
	}
	return s
}

func (m *Model) detailLines() (lines []string) {
	if m.text == "" {
		return []string{"", m.detail.String() + ": waiting for the explanation"}
	}
	for line := range strings.Lines(m.text) {
		lines = append(lines, wrap(strings.TrimRight(clean(strings.TrimSuffix(line, "\n")), " "), m.width)...)
	}
	return lines
}
