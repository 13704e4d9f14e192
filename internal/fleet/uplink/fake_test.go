package uplink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/congctl/congctl/internal/tcp/record"
)

// message is a frame of the fakes.
type message struct {
	Sequence uint64
	Ends     []WindowEnd
	Conns    []conn
}

// conn is what the tests look at of a record.
type conn struct {
	Cookie record.Cookie  `json:",omitempty"`
	Window int64          `json:",omitempty"`
	Weight float64        `json:",omitempty"`
	Remote netip.AddrPort `json:",omitzero"`
	Cong   string         `json:",omitempty"`
	Client uint16         `json:",omitempty"`
}

// plainCoder says that each record takes connBytes.
type plainCoder struct {
	conns     []conn
	connBytes int
	longest   int // ends; 0 is no limit
}

func (p *plainCoder) Add(c *record.Conn) error {
	p.conns = append(p.conns, conn{c.Cookie, c.Window, c.Weight, c.Remote, c.Cong, c.Client})
	return nil
}

func (p *plainCoder) Len() (conns, bytes int) { return len(p.conns), len(p.conns) * p.connBytes }

func (p *plainCoder) AppendFrame(dst []byte, sequence uint64, ends []WindowEnd) ([]byte, error) {
	if p.longest > 0 && len(ends) > p.longest {
		return dst, errors.New("the header is too long")
	}
	b, err := json.Marshal(message{sequence, ends, p.conns})
	p.conns = nil
	return append(dst, b...), err
}

// memorySpool survives an uplink, as a disk does.
type memorySpool struct {
	mu                     sync.Mutex
	frames                 [][]byte
	since                  []time.Time
	max                    int // frames; 0 is no limit
	dropped, lost, records uint64
	fails                  error         // of Append
	waits                  chan struct{} // Append waits for it, if there is one
	crash                  func()        // runs instead of Delivered
	head                   []byte
}

func (s *memorySpool) Append(frame []byte) error {
	s.mu.Lock()
	waits := s.waits
	s.mu.Unlock()
	if waits != nil {
		<-waits
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		s.lost++
		return s.fails
	}
	s.frames, s.since = append(s.frames, bytes.Clone(frame)), append(s.since, time.Now())
	if s.max > 0 && len(s.frames) > s.max {
		var m message
		_ = json.Unmarshal(s.frames[0], &m)
		s.records += uint64(len(m.Conns))
		s.frames, s.since = s.frames[1:], s.since[1:]
		s.dropped++
	}
	return nil
}

func (s *memorySpool) Next() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head = nil
	if len(s.frames) > 0 {
		s.head = s.frames[0]
	}
	return s.head, nil
}

func (s *memorySpool) Delivered() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crash != nil {
		s.crash()
		return nil
	}
	if len(s.frames) > 0 && &s.frames[0][0] == &s.head[0] {
		s.frames, s.since = s.frames[1:], s.since[1:]
	}
	return nil
}

func (s *memorySpool) set(fn func(*memorySpool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s)
}

func (s *memorySpool) len() int {
	n, _, _ := s.Waiting()
	return n
}

func (s *memorySpool) Sync() error { return nil }

func (s *memorySpool) Waiting() (batches int, bytes int64, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.frames {
		bytes += int64(len(f))
	}
	if len(s.frames) > 0 {
		since = s.since[0]
	}
	return len(s.frames), bytes, since
}

func (s *memorySpool) Dropped() (batches, records uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped + s.lost, s.records
}

var errRefused = errors.New("refused")

// receiver is the far side: it keeps what it took, in order, repeated or not.
type receiver struct {
	mu      sync.Mutex
	taken   []message
	answers func(ctx context.Context, m message) error
}

func (r *receiver) Send(ctx context.Context, frame []byte) error {
	var m message
	err := json.Unmarshal(frame, &m)
	if err == nil && r.answers != nil {
		err = r.answers(ctx, m)
	}
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.taken = append(r.taken, m)
	}
	return err
}

func (r *receiver) all() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taken)
}

func (r *receiver) records() (n int) {
	for _, m := range r.all() {
		n += len(m.Conns)
	}
	return n
}

// bench is an uplink between fakes.
type bench struct {
	*Uplink
	t     *testing.T
	coder *plainCoder
	spool *memorySpool
	far   *receiver
	mu    sync.Mutex
	told  []string
	stop  func()
	next  uint64 // cookie
}

// within runs fn with an uplink in a bubble of time.
func within(t *testing.T, o Options, spool *memorySpool, fn func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, coder: &plainCoder{connBytes: 100}, spool: spool, far: &receiver{}}
		b.start(o)
		fn(b)
		b.stop()
	})
}

func (b *bench) start(o Options) {
	if o.Window == 0 {
		o.Window = 300 * time.Second
	}
	b.Uplink = New(o, Deps{Coder: b.coder, Spool: b.spool, Sink: b.far,
		Refused: func(err error) bool { return errors.Is(err, errRefused) }, Tell: b.tell})
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	})
}

func (b *bench) tell(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = append(b.told, s)
}

func (b *bench) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.told)
}

// add gives n records of a window.
func (b *bench) add(n int, window int64) {
	for range n {
		b.next++
		b.Record(&record.Conn{Cookie: record.Cookie(b.next), Window: window, Remote: netip.MustParseAddrPort("203.0.113.7:4711")})
	}
}

// after lets time pass.
func (b *bench) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
