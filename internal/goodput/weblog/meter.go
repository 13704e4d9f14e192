package weblog

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/goodput"
	"github.com/congctl/congctl/internal/goodput/accesslog"
	"github.com/congctl/congctl/internal/strict"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Options are the meter's numbers and files.
type Options struct {
	Logs                   []string // paths of access logs; none: only acknowledged bytes are counted
	Format                 accesslog.Format
	Window, Block, Washout time.Duration
	MinBytes               uint64
	// ShowLines lets a bad line's content into the log: it may hold a client's address.
	ShowLines bool
}

// Sink keeps batches.
type Sink interface {
	Append(goodput.Batch) error
}

// Tenants names a response's or a connection's tenant; "" for none.
type Tenants interface {
	Of(host string, server netip.AddrPort) string
}

// Meter follows logs and takes the agent's records. Record and Window may be called
// while Run runs.
type Meter struct {
	opt     Options
	sink    Sink
	tenants Tenants
	alarm   func(kind, text string)
	log     *slog.Logger
	tails   []*Tail
	turn    int // reads
	windows chan int64

	mu      sync.Mutex // guards all below
	matcher *accesslog.Matcher
	rows    *goodput.Aggregator
	bad     uint64 // lines since the last batch
	told    map[string]string
}

// New makes a meter; Run starts it. It calls alarm from Run: with a text when something is
// wrong, with "" when it is over.
func New(o Options, s Sink, t Tenants, alarm func(kind, text string), log *slog.Logger) *Meter {
	m := &Meter{
		opt: o, sink: s, tenants: t, alarm: alarm, log: log, windows: make(chan int64, 4), told: map[string]string{},
		matcher: accesslog.NewMatcher(accesslog.MatchConfig{WindowSeconds: seconds(o.Window), MinBytes: o.MinBytes}),
		rows:    goodput.New(goodput.Config{BlockSeconds: seconds(o.Block), WashoutSeconds: seconds(o.Washout), MinBytes: o.MinBytes}),
	}
	for _, path := range o.Logs {
		m.tails = append(m.tails, NewTail(path, accesslog.MaxLine))
	}
	return m
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// Record takes one connection record; it is not kept.
func (m *Meter) Record(c *record.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows.Conn(c, m.tenants.Of("", c.Local))
	if len(m.tails) > 0 {
		m.matcher.Conn(c)
	}
}

// Window signals that all records of window start are in. It does not wait: if the disk is
// slow, the next window settles this one, too.
func (m *Meter) Window(start int64) {
	select {
	case m.windows <- start:
	default:
	}
}

const (
	readEvery = time.Second
	// readBytes of all logs are read each time: the lines of 25,000 responses, seven times as many as can wait for their
	// window. Decoding the costliest takes half of a core.
	readBytes = 8 << 20
)

// Run reads and settles until stop is closed.
func (m *Meter) Run(stop <-chan struct{}) error {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for _, t := range m.tails {
		t.stop = stop
	}
	m.read() // where reading begins
	for {
		select {
		case <-stop:
			return m.close()
		case <-tick.C:
			m.read()
		case start := <-m.windows:
			m.read()
			m.settle(start - seconds(m.opt.Window))
		}
	}
}

func (m *Meter) close() error {
	var errs []error
	for _, t := range m.tails {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}

func (m *Meter) read() {
	var wrong []string
	room := int64(readBytes)
	m.turn++ // another log comes first each time: one that takes all must not starve the others
	for i := range m.tails {
		t := m.tails[(m.turn+i)%len(m.tails)]
		t.room = room
		missing, err := t.Read(func(n int64, line []byte) { m.line(t.path, n, line) })
		room -= t.used
		if err != nil {
			wrong = append(wrong, err.Error())
		} else if missing {
			wrong = append(wrong, "access log "+t.path+" does not exist; goodput is not measured until it does")
		}
	}
	if slices.Sort(wrong); len(wrong) > 0 {
		m.tell("access-log", strings.Join(wrong, "; "))
	} else {
		m.clear("access-log")
	}
}

func (m *Meter) line(path string, number int64, line []byte) {
	r, err := m.opt.Format.Decode(number, line)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.matcher.Response(r)
		return
	}
	m.bad++
	if f, ok := errors.AsType[*strict.Fault](err); ok && !m.opt.ShowLines {
		// The value holds a client's address and its request, which must not get into another log.
		f.Value, err = "", f
	}
	if m.bad == 1 { // of each window, one is named
		m.log.Warn(fmt.Sprintf("access log %s: a line is not in the format %s", path, m.opt.Format), "err", err)
	}
}

// settle makes the batch of a window.
func (m *Meter) settle(start int64) {
	m.mu.Lock()
	matched, tally := m.matcher.Settle(start)
	for i := range matched {
		r := &matched[i]
		m.rows.Response(r, m.tenants.Of(r.Host, r.Server))
	}
	b := goodput.Batch{Window: start, Tally: tally, BadLine: m.bad}
	b.Rows, b.Dropped = m.rows.Flush()
	m.bad = 0
	m.mu.Unlock()

	if err := m.sink.Append(b); err != nil {
		m.tell("goodput", "goodput of window not stored: "+err.Error())
		return
	}
	m.clear("goodput")
	m.judge(&b)
}

// Shares above which an operator should look: a log of another format, or of another host.
const (
	badShare       = 0.01
	unmatchedShare = 0.5 // with a proxy in between nothing matches; after a restart at least half
	fewestLines    = 100
)

func (m *Meter) judge(b *goodput.Batch) {
	unmatched, lines := b.Tally.UnmatchedTotal(), b.Tally.Responses+b.BadLine
	if lines < fewestLines {
		return
	}
	if float64(b.BadLine) > badShare*float64(lines) {
		m.tell("access-log-lines", "lines of the access log are not in the format "+string(m.opt.Format)+"; see docs/format/access-log.md")
	} else {
		m.clear("access-log-lines")
	}
	if settled := unmatched + b.Tally.Matched; float64(unmatched) > unmatchedShare*float64(settled) {
		m.tell("access-log-match", "most responses of the access log match no measured connection: "+mainReason(&b.Tally))
	} else {
		m.clear("access-log-match")
	}
}

func mainReason(t *accesslog.Tally) string {
	main := accesslog.None
	for r := range accesslog.Reasons {
		if t.Unmatched[r] > t.Unmatched[main] {
			main = r
		}
	}
	return main.String()
}

// tell raises an alarm once until it is cleared.
func (m *Meter) tell(kind, text string) {
	if m.told[kind] == text {
		return
	}
	m.told[kind] = text
	m.alarm(kind, text)
}

func (m *Meter) clear(kind string) {
	if _, told := m.told[kind]; told {
		delete(m.told, kind)
		m.alarm(kind, "")
	}
}
