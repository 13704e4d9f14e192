package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// queue is a source whose messages wait in a list. What was handed out and not committed comes
// again to the next reader.
type queue struct {
	mu             sync.Mutex // an insert looks while the next messages are read
	messages       []string
	at, committed  int
	dead           []string
	fails, commits int // the next so many polls, and commits, fail
}

func (q *queue) Poll(_ context.Context, _ time.Duration, full func() bool, take func([]byte) error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fails > 0 {
		q.fails--
		return errors.New("broker away")
	}
	for range min(3, len(q.messages)-q.at) {
		if full() {
			break
		}
		if err := take([]byte(q.messages[q.at])); err != nil {
			q.dead = append(q.dead, q.messages[q.at]+": "+err.Error())
		}
		q.at++
	}
	return nil
}

func (q *queue) Mark() func(context.Context) error {
	at := q.at
	return func(context.Context) error {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.commits > 0 {
			q.commits--
			return errors.New("not a member any more")
		}
		q.committed = at
		return nil
	}
}

// done reports whether all is committed.
func (q *queue) done() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.committed == len(q.messages)
}

// place counts a message once, by its text; two shelves lead to it.
type place struct {
	kept      map[string]int
	fails     int // the next so many inserts fail, each after it stored a part
	most      int // rows that waited at once on a shelf
	retained  int64
	onInserts func()
}

type shelf struct {
	*place
	waiting []string
}

func (s *shelf) Add(m []byte) error {
	if strings.HasPrefix(string(m), "bad") {
		return errors.New("not a batch")
	}
	s.waiting = append(s.waiting, string(m))
	return nil
}

func (s *shelf) Rows() int { return len(s.waiting) }

func (s *shelf) Insert(context.Context) error {
	defer s.onInserts()
	part := len(s.waiting)
	s.most = max(s.most, part)
	if s.fails > 0 {
		part /= 2
	}
	for _, m := range s.waiting[:part] {
		s.kept[m]++
	}
	if s.fails > 0 {
		s.fails--
		return errors.New("store away")
	}
	s.waiting = nil
	return nil
}

func (s *shelf) Retain(_ context.Context, from int64) (int, error) { s.retained = from; return 0, nil }

// run lets an ingest run until all is committed, or until the stop-th insert, as if it were killed.
func run(t *testing.T, q *queue, s *place, stop int) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	inserts := 0
	s.onInserts = func() {
		if inserts++; inserts == stop || q.done() {
			end()
		}
	}
	i := newIngest(q, s)
	i.first = time.Millisecond
	i.Run(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("%d of %d messages committed", q.committed, len(q.messages))
	}
}

func newIngest(q *queue, s *place) *Ingest {
	return New(Config{BatchRecords: 10, BatchWait: 20 * time.Millisecond, Retention: time.Hour}, q, &shelf{place: s}, &shelf{place: s}, slog.New(slog.NewTextHandler(io.Discard, nil)))
}

func numbered(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint("message ", i))
	}
	return list
}

func (s *place) hasAll(t *testing.T, messages []string) {
	t.Helper()
	for _, m := range messages {
		if strings.HasPrefix(m, "bad") == (s.kept[m] > 0) {
			t.Errorf("%s was stored %d times", m, s.kept[m])
		}
	}
}

// TestNothingIsLost while source and store come and go, commits fail, and the ingest dies at each
// place in turn: every good message is stored, every bad one set aside, and memory is bounded.
func TestNothingIsLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for stop := range 12 {
		q := &queue{messages: numbered(100)}
		for range 5 {
			q.messages[rng.IntN(100)] = fmt.Sprint("bad ", rng.IntN(1000))
		}
		s := &place{kept: map[string]int{}}
		for life := 0; q.committed < len(q.messages); life++ {
			q.at = q.committed // the next process begins where the last one committed
			q.fails, q.commits, s.fails = rng.IntN(3), rng.IntN(2), rng.IntN(3)
			if life == 10 {
				stop = 0
			}
			run(t, q, s, stop)
		}
		s.hasAll(t, q.messages)
		if s.most > 10 {
			t.Errorf("%d rows waited at once, want at most 10", s.most)
		}
		if !slices.ContainsFunc(q.dead, func(d string) bool { return strings.Contains(d, ": not a batch") }) {
			t.Errorf("dead letters %q", q.dead)
		}
	}
}

// TestCommitWaitsForTheInsert: killed between the two, nothing is committed.
func TestCommitWaitsForTheInsert(t *testing.T) {
	q, s := &queue{messages: numbered(30)}, &place{kept: map[string]int{}}
	run(t, q, s, 1)
	if len(s.kept) == 0 || q.committed > 0 {
		t.Errorf("%d stored, %d committed", len(s.kept), q.committed)
	}
}

// TestStoreAwayStopsReading: what is not read waits in the queue.
func TestStoreAwayStopsReading(t *testing.T) {
	q, s := &queue{messages: numbered(100)}, &place{kept: map[string]int{}, fails: 1000}
	run(t, q, s, 6)
	if q.at > 24 || q.committed > 0 {
		t.Errorf("%d messages were read and %d committed while the store was away", q.at, q.committed)
	}
}

// TestSoonAfterTheStore: however long the store is away, the ingest tries again at most 10 s after an attempt fails.
func TestSoonAfterTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(t.Context(), time.Hour)
		defer end()
		var longest time.Duration
		last := time.Now()
		s := &place{kept: map[string]int{}, fails: math.MaxInt, onInserts: func() { longest, last = max(longest, time.Since(last)), time.Now() }}
		newIngest(&queue{messages: numbered(100)}, s).Run(ctx)
		if longest <= 5*time.Second || longest > 10*time.Second {
			t.Errorf("waited for up to %s", longest)
		}
	})
}

func TestRetain(t *testing.T) {
	q, s := &queue{messages: numbered(3)}, &place{kept: map[string]int{}}
	before := time.Now().Add(-time.Hour).Unix()
	run(t, q, s, 2)
	if s.retained < before || s.retained > time.Now().Unix() {
		t.Errorf("retained from %d", s.retained)
	}
}
