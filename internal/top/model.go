package top

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Options say what there is to see.
type Options struct {
	Host  bool          // this host's connections, too; else a fleet's networks only
	Every time.Duration // between two answers
}

// Model is all that is on the screen. Its methods take what happened; View shows it.
type Model struct {
	opt           Options
	width, height int
	now           time.Time

	state    State
	networks []Network
	answered time.Time // the last answer; zero: none yet
	trouble  Trouble   // of the last question
	conns    []Conn
	dumped   time.Time
	noDump   string // why there are no connections
	acked    map[socket]uint64
	stale    bool // totals and nets are of the answer or the dump before
	totals   []Total

	nets   table[row, record.Prefix]
	socks  table[Conn, socket]
	onConn bool // the table of connections
	paused bool
	typing bool // of a filter
	help   bool
	detail record.Prefix // 0: none
	text   string        // of the detail
	scroll int
}

// Trouble is why there is no answer.
type Trouble struct {
	Text, Hint string
	Down       bool // nothing runs that could answer
}

// New makes an empty screen.
func New(opt Options) *Model {
	return &Model{opt: opt,
		nets:  table[row, record.Prefix]{columns: networkColumns, natural: "interest", sort: -1, key: func(r *row) record.Prefix { return r.Prefix }},
		socks: table[Conn, socket]{columns: connColumns, natural: "address", ties: byAddress, sort: slices.IndexFunc(connColumns, func(c column[Conn]) bool { return c.name == "NOW" }), key: (*Conn).id},
	}
}

// Resize sets the size of the screen.
func (m *Model) Resize(width, height int) { m.width, m.height = width, height }

// Tick sets the time.
func (m *Model) Tick(now time.Time) { m.now = now }

// Answered takes the loop's answer.
func (m *Model) Answered(now time.Time, s State, networks []Network) {
	m.now = now
	if m.paused {
		return
	}
	m.answered, m.trouble, m.state, m.networks, m.stale = now, Trouble{}, s, networks, true
}

// Failed takes the place of an answer that did not come. What was known stays, with its age.
func (m *Model) Failed(now time.Time, t Trouble) {
	m.now = now
	if !m.paused {
		m.trouble = t
	}
}

// Dumped takes a dump of this host's connections.
func (m *Model) Dumped(now time.Time, conns []Conn) {
	m.now = now
	if m.paused {
		return
	}
	pace(conns, m.acked, now.Sub(m.dumped))
	if m.acked == nil {
		m.acked = make(map[socket]uint64, len(conns))
	}
	clear(m.acked)
	for i := range conns {
		m.acked[conns[i].id()] = conns[i].Acked
	}
	m.dumped, m.noDump, m.conns, m.stale = now, "", conns, true
	m.socks.set(conns)
}

func byAddress(a, b *Conn) int {
	return cmp.Or(compareAddr(a.Remote, b.Remote), compareAddr(a.Local, b.Local), cmp.Compare(a.Cookie, b.Cookie))
}

// NoDump says why there is no dump.
func (m *Model) NoDump(now time.Time, why string) { m.now, m.noDump = now, why }

// join joins networks and connections, where one of them is new.
func (m *Model) join() {
	if !m.stale {
		return
	}
	type now struct {
		live int
		perS float64
	}
	by := make(map[record.Prefix]now, len(m.networks))
	for i := range m.conns {
		c := &m.conns[i]
		n := by[c.Network]
		by[c.Network] = now{n.live + 1, n.perS + c.PerS}
	}
	rows := make([]row, len(m.networks))
	for i := range m.networks {
		n := by[m.networks[i].Prefix]
		rows[i] = row{m.networks[i], n.live, n.perS}
	}
	m.nets.set(rows)
	m.totals, m.stale = Totals(m.state, m.networks, m.conns), false
}

// Detail is the network whose explanation is on the screen; 0: none.
func (m *Model) Detail() record.Prefix { return m.detail }

// Explained takes the explanation of a network.
func (m *Model) Explained(p record.Prefix, text string) {
	if p == m.detail && (!m.paused || m.text == "") {
		m.text = strings.TrimRight(text, "\n")
	}
}

func (m *Model) pane() pane {
	if m.onConn {
		return &m.socks
	}
	return &m.nets
}
