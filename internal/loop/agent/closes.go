package agent

import (
	"sync"

	"github.com/congctl/congctl/internal/tcp/abi"
)

// closeQueue holds close records between the ring's reader and the ledger, in blocks that are used
// again. It is bounded, since memory must not follow the rate of closes while a dump of a million
// sockets runs. It counts what does not fit.
type closeQueue struct {
	mu      sync.Mutex    // guards all below
	waiting [][]abi.Close // all full but the last
	count   int           // in them
	spare   [][]abi.Close
	limit   int
	dropped uint64
	many    chan struct{} // holds a token from manyCloses on
}

const (
	blockCloses = 512             // of 320 bytes each
	manyCloses  = 8 * blockCloses // wake the loop
	keepBlocks  = 16              // stay when idle, in 2.6 MB: a wake-up of the ring brings six on top of those that wait
)

func newCloseQueue(limit int) *closeQueue {
	return &closeQueue{limit: limit, many: make(chan struct{}, 1)}
}

func (q *closeQueue) put(c *abi.Close) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count >= q.limit {
		q.dropped++
		return
	}
	if q.count%blockCloses == 0 {
		q.waiting = append(q.waiting, q.block())
	}
	last := &q.waiting[len(q.waiting)-1]
	*last = append(*last, *c)
	q.count++
	if q.count >= manyCloses {
		select {
		case q.many <- struct{}{}:
		default:
		}
	}
}

func (q *closeQueue) block() []abi.Close {
	n := len(q.spare)
	if n == 0 {
		return make([]abi.Close, 0, blockCloses)
	}
	b := q.spare[n-1]
	q.spare = q.spare[:n-1]
	return b
}

// take returns all that waits. Each block goes back by give.
func (q *closeQueue) take() [][]abi.Close {
	q.mu.Lock()
	defer q.mu.Unlock()
	blocks := q.waiting
	q.waiting, q.count = nil, 0
	return blocks
}

// give keeps a block for later, or frees it: a burst's memory goes once it is over.
func (q *closeQueue) give(block []abi.Close) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.spare) < keepBlocks {
		q.spare = append(q.spare, block[:0])
	}
}

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
	blocks := a.closes.take()
	if len(blocks) == 0 {
		return
	}
	unix, boot := a.deps.Clock()
	for _, block := range blocks {
		for i := range block {
			a.ledger.Close(&block[i], unix-boot)
		}
		a.closes.give(block)
	}
}
