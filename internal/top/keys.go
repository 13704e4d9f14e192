package top

import (
	"unicode/utf8"
)

// Key takes a key by its name in bubbletea: "q", "ctrl+c", "up". It reports whether it ends.
func (m *Model) Key(key string) (quit bool) {
	m.join()
	switch {
	case key == "ctrl+c":
		return true
	case m.typing:
		m.typed(key)
		return false
	case m.help: // any key closes it
		m.help = false
		return false
	case key == "q":
		return true
	case m.detail != 0:
		m.read(key)
		return false
	}
	m.pressed(key)
	return false
}

// Type takes text, as a paste is.
func (m *Model) Type(text string) {
	if m.typing {
		m.pane().find(m.pane().filter() + clean(text))
	}
}

// typed takes a key of a filter.
func (m *Model) typed(key string) {
	text := m.pane().filter()
	switch key {
	case "enter":
		m.typing = false
	case "esc":
		m.typing = false
		m.pane().find("")
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(text)
		m.pane().find(text[:len(text)-n])
	case "ctrl+u":
		m.pane().find("")
	case "space":
		m.pane().find(text + " ")
	default:
		if utf8.RuneCountInString(key) == 1 && clean(key) == key {
			m.pane().find(text + key)
		}
	}
}

// steps are the keys that move by lines, of a screen of so many.
func steps(key string, page int) int {
	const all = 1 << 30
	return map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "ctrl+b": -page, "pgdown": page, "ctrl+f": page,
		"home": -all, "g": -all, "end": all, "G": all}[key]
}

// page is how many rows a screen has, about.
func (m *Model) page() int { return max(1, m.height-6) }

func (m *Model) read(key string) {
	switch key {
	case "esc", "enter", "backspace", "left":
		m.detail, m.text, m.scroll = 0, "", 0
	case "?":
		m.help = true
	case "space":
		m.paused = !m.paused
	default:
		m.scroll = max(0, min(m.scroll+steps(key, m.page()), len(m.detailLines())-m.height+2))
	}
}

func (m *Model) pressed(key string) {
	switch key {
	case "?", "h", "f1":
		m.help = true
	case "tab", "shift+tab":
		m.onConn = !m.onConn && m.opt.Host
	case "1":
		m.onConn = false
	case "2":
		m.onConn = m.opt.Host
	case "/":
		m.typing = true
	case "esc":
		m.pane().find("")
	case "right", ">", ".":
		m.pane().order(1, m.width)
	case "left", "<", ",":
		m.pane().order(-1, m.width)
	case "r":
		m.pane().turn()
	case "space", "p":
		m.paused = !m.paused
	case "enter":
		m.open()
	default:
		m.pane().move(steps(key, m.page()))
	}
}

// open shows the network at the cursor, or that of the connection there.
func (m *Model) open() {
	if c, ok := m.socks.at(); m.onConn && ok {
		m.detail = c.Network
	} else if r, ok := m.nets.at(); !m.onConn && ok {
		m.detail = r.Prefix
	}
	m.text, m.scroll = "", 0
}
