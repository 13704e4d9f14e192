package agent

import (
	"sync"

	"github.com/congctl/congctl/internal/tcp/abi"
)

// closeQueue holds close records between the ring's reader and the ledger. It is bounded,
// since memory must not follow the rate of closes while a dump of a million sockets
// runs. It counts what does not fit.
type closeQueue struct {
	mu      sync.Mutex // guards all below
	waiting []abi.Close
	spare   []abi.Close
	limit   int
	dropped uint64
	many    chan struct{} // holds a token from keepCloses on
}

func newCloseQueue(limit int) *closeQueue {
	return &closeQueue{limit: limit, many: make(chan struct{}, 1)}
}

func (q *closeQueue) put(c *abi.Close) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= q.limit {
		q.dropped++
		return
	}
	q.waiting = append(q.waiting, *c)
	if len(q.waiting) >= keepCloses {
		select {
		case q.many <- struct{}{}:
		default:
		}
	}
}

// take returns all that waits; the slice is valid until the next call.
func (q *closeQueue) take() []abi.Close {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.spare = q.spare[:0], q.waiting
	if cap(q.waiting) > keepCloses && len(q.spare) < keepCloses {
		q.waiting = nil // frees a burst's memory once it is over
	}
	return q.spare
}

// keepCloses is how many records (320 bytes each) the two buffers keep room for when idle.
const keepCloses = 4096

func (q *closeQueue) lost() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

func (a *Agent) readCloses(gone chan<- struct{}) {
	defer close(gone)
	malformed, err := a.deps.Follower.ReadCloses(a.asks, a.closes.put)
	if err != nil {
		a.RaiseAlarm("closes", "close records can no longer be read: "+err.Error())
	}
	a.mu.Lock()
	a.status.MalformedCloses += malformed
	a.mu.Unlock()
}

// drainCloses also takes in what waits in the kernel, which does not wake us for single
// records: they wait for the next poll, or for the end of their window.
func (a *Agent) drainCloses() {
	done := make(chan struct{})
	select {
	case a.asks <- done:
		select {
		case <-done:
		case <-a.gone:
		}
	case <-a.gone:
	}
	a.takeCloses()
}

// takeCloses hands what waits to the ledger. It never runs during a dump: a close applied
// before the dump shows its socket would bring the socket back to life.
func (a *Agent) takeCloses() {
	waiting := a.closes.take()
	if len(waiting) == 0 {
		return
	}
	unix, boot := a.deps.Clock()
	for i := range waiting {
		a.ledger.Close(&waiting[i], unix-boot)
	}
}
