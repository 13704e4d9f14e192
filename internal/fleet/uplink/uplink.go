package uplink

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Coder makes one frame after another: a batch behind its length.
type Coder interface {
	Add(c *record.Conn) error
	Len() (conns, bytes int) // of what was added
	// AppendFrame appends what was added and the ends of windows, and empties the coder. An error leaves the
	// records in it.
	AppendFrame(dst []byte, sequence uint64, ends []WindowEnd) ([]byte, error)
}

// WindowEnd says that this batch and those before it hold all that this host saw of a window.
type WindowEnd struct {
	Start        int64 // Unix seconds
	Unknown      string
	Starved      string
	DefaultCongs []string
}

// Spool keeps frames in their order. It counts what it drops.
type Spool interface {
	Append(frame []byte) error // it must not keep the frame
	Next() ([]byte, error)     // the oldest that is not delivered, nil if none; it holds until the next call
	Delivered() error          // the one that Next returned
	Sync() error
	Waiting() (batches int, bytes int64, since time.Time)
	Dropped() (batches, records uint64)
}

// Sink is the far side. It must not keep the frame.
type Sink interface {
	Send(ctx context.Context, frame []byte) error
}

// Options of an uplink.
type Options struct {
	FirstSequence uint64 // above those of all earlier starts in this boot; 0 is 1
	Boot          record.BootID
	Key           [16]byte // a secret, by which records are thinned: nobody can choose a connection that is kept
	Addresses     record.Addresses
	Window        time.Duration
	BudgetBytes   int64         // of frames a second, before compression; 0 is no limit
	SpoolBytes    int64         // the spool's bound
	FlushEvery    time.Duration // how old a batch grows before it is written; 0 is 10 s
	SendTimeout   time.Duration // 0 is 30 s
}

// Deps are what an uplink works with.
type Deps struct {
	Coder Coder
	Spool Spool
	Sink  Sink
	// Refused tells an error of Send that will come again for this batch, whenever it is sent: it is skipped.
	Refused func(error) bool
	// Tell takes a line for the log when something began or ended; nil for nobody. It must not wait.
	Tell func(string)
}

const (
	// A batch ends at either, as in a records file: what one poll of a small host gives, and a quarter of the
	// usual message limit of brokers (1 MB).
	maxConns, maxBytes = 1000, 256 << 10
	// maxQueue batches wait for the disk, at most 20 MB: 64,000 records are six seconds of a busy host, or
	// the final poll of 64,000 connections.
	maxQueue = 64
	// maxSpare frames stay for later ones: memory that is new, or was not used for a while, costs as much as what is
	// written into it.
	maxSpare = 2
	// maxEnds wait for room in the queue.
	maxEnds = 16
)

// Uplink is one agent's. Several goroutines may call its methods.
type Uplink struct {
	opt  Options
	deps Deps

	queue   chan []byte   // to the spool
	spare   chan []byte   // frames that are there, to be filled again
	spooled chan struct{} // something came there
	backlog atomic.Int64  // bytes that wait in the spool

	mu       sync.Mutex // guards all below; never held while the disk or the far side is
	thin     thinner
	sequence uint64 // of the next batch
	ends     []WindowEnd
	kept     record.Conn
	status   Status
	states   map[string]bool                 // what does not work now
	clients  map[int64]*record.ClientNumbers // by day
}

// New makes an uplink; Run starts it.
func New(o Options, d Deps) *Uplink {
	if o.FlushEvery <= 0 {
		o.FlushEvery = 10 * time.Second
	}
	if o.SendTimeout <= 0 {
		o.SendTimeout = 30 * time.Second
	}
	if d.Tell == nil {
		d.Tell = func(string) {}
	}
	budget := int64(float64(o.BudgetBytes) * o.Window.Seconds())
	return &Uplink{
		opt: o, deps: d, sequence: max(o.FirstSequence, 1), states: map[string]bool{},
		queue: make(chan []byte, maxQueue), spare: make(chan []byte, maxSpare), spooled: make(chan struct{}, 1),
		thin: newThinner(o.Key, o.Boot, budget, o.SpoolBytes),
	}
}

// Record takes a finished record, which the caller may use again at once. It never waits: what does not fit is
// counted as lost.
func (u *Uplink) Record(c *record.Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	weight, keep := u.thin.choose(c, far{u.backlog.Load(), u.status.SentBytes})
	if !keep {
		u.status.ThinnedRecords++
		return
	}
	u.kept = *c
	u.kept.Weight = weight
	if u.kept.Remote = u.opt.Addresses.Redact(c.Remote); u.kept.Remote != c.Remote {
		if n := u.clients[record.ClientDay(c.Window)]; n != nil {
			u.kept.Client = n.Of(c)
		}
	}
	_, before := u.deps.Coder.Len()
	if err := u.deps.Coder.Add(&u.kept); err != nil {
		u.status.LostRecords++
		return
	}
	n, size := u.deps.Coder.Len()
	u.thin.spent(c.Window, size-before)
	if n >= maxConns || size >= maxBytes {
		u.seal()
	}
}

// TellClientsApart numbers clients whose addresses are not sent by the keys of their window's day. In a window
// of a day without a key they have none, and count as one client.
func (u *Uplink) TellClientsApart(keys []record.ClientKey) {
	clients := make(map[int64]*record.ClientNumbers, len(keys))
	for _, k := range keys {
		clients[k.Day] = record.NewClientNumbers(k.Key)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clients = clients
}

// EndWindow takes that all records of a window were given to Record.
func (u *Uplink) EndWindow(e WindowEnd) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ends = append(u.ends, e)
	u.seal()
}

// flush ends the open batch, so that a quiet host reports too.
func (u *Uplink) flush() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if n, _ := u.deps.Coder.Len(); n > 0 || len(u.ends) > 0 {
		u.seal()
	}
}

// seal makes a frame of the open batch and hands it to the spool. The sequence of one that is lost stays unused:
// the receiver sees the gap.
func (u *Uplink) seal() {
	n, size := u.deps.Coder.Len()
	frame, err := u.deps.Coder.AppendFrame(u.room(size+512), u.sequence, u.ends)
	if err != nil {
		u.tell(stateEnds, fmt.Errorf("%d ends of windows are not sent: %w", len(u.ends), err))
		u.ends = nil
		if frame, err = u.deps.Coder.AppendFrame(nil, u.sequence, nil); err != nil {
			return // no header of ours is so long
		}
	}
	u.sequence++
	select {
	case u.queue <- frame:
		u.ends = nil
		u.status.Batches++
		u.status.Records += uint64(n)
	default:
		u.status.LostBatches++
		u.status.LostRecords += uint64(n)
		u.ends = u.ends[max(0, len(u.ends)-maxEnds):]
	}
}

// room returns an empty slice for a frame of about so many bytes.
func (u *Uplink) room(bytes int) []byte {
	select {
	case b := <-u.spare:
		return b[:0]
	default:
		return make([]byte, 0, bytes)
	}
}
