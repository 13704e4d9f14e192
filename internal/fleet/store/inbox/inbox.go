// Package inbox keeps what the hosts of one PoP sent of the windows that are not decided yet, on
// the controller's disk.
//
// It is not the store of decisions: a window's file goes when its round is in that.
//
// Its trap: the hosts believe that what was taken is safe, and forget it. So a batch is synced
// before Take returns, and what a crash leaves torn was never taken.
package inbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// ErrRefused is a batch that cannot become right by being sent again.
var ErrRefused = errors.New("refused")

// ErrFull is an inbox at its limit: a host sends again later.
var ErrFull = errors.New("the inbox is full")

// maxAhead is how many windows after the present one are taken: a host's clock may be ahead.
const maxAhead = 4

// maxBehind is how many windows before the present one are kept for a controller that was away: each is an open file.
// Windows before that count as late, as those that were decided.
const maxBehind = 500

// hostParts: one host has at most half of the inbox, so that a flood of one leaves room for the others.
const hostParts = 2

// maxNames of one host's batches in a window, which stay in memory: of 1,000 records each they are five times as many
// connections as an agent follows.
const maxNames = 20_000

// Options of an inbox.
type Options struct {
	Dir           string
	PoP           string
	WindowSeconds int64
	MaxBytes      int64 // of all open windows
}

// Counts say what became of batches.
type Counts struct {
	Batches, Doubled uint64 // taken; taken before
	Late             uint64 // records of windows that were decided before they came
	TornBytes        int64  // of batches that a crash cut off: their hosts send them again
	Damaged          int    // files that could not be read, set aside under the same name with .damaged
}

// End is a host's word that it has sent all of a window.
type End struct {
	Host string
	wire.WindowEnd
}

// Inbox is one PoP's. Several goroutines may call its methods.
type Inbox struct {
	opt Options

	mu     sync.Mutex
	panes  map[int64]*pane
	closed int64 // the latest window that was closed
	bytes  int64
	of     map[string]int64 // bytes of each host
	counts Counts
}

// pane is one open window: a file of frames, with each batch once.
type pane struct {
	file  *os.File
	syncs sync.WaitGroup // under way; added to under mu
	wrote atomic.Int64   // how often; added to under mu
	disk  synced
	bytes int64
	of    map[string]int64 // bytes of each host
	names map[string]int   // batches of each host
	seen  map[batchID]bool
	ends  map[string]wire.WindowEnd
}

// synced is what of a file is on the disk.
type synced struct {
	mu     sync.Mutex
	writes int64
	failed error // once: the kernel tells a fault to one caller, and takes what it could not write for written
}

// batchID names a batch for ever. Containers of one machine have one boot id, and a host may claim any: so no host's
// batch is doubled by another's.
type batchID struct {
	host     string
	boot     record.BootID
	sequence uint64
}

// Open reads what an earlier run left; closed is the latest window that was decided.
func Open(o Options, closed int64) (*Inbox, error) {
	in := &Inbox{opt: o, panes: map[int64]*pane{}, of: map[string]int64{}, closed: closed}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open inbox: %w", err)
	}
	files, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open inbox: %w", err)
	}
	for _, f := range files {
		start, err := strconv.ParseInt(strings.TrimSuffix(f.Name(), suffix), 10, 64)
		if err != nil || !strings.HasSuffix(f.Name(), suffix) {
			continue // not ours
		}
		if start <= closed {
			err = os.Remove(in.path(start))
		} else if err = in.reopen(start); errors.Is(err, wire.ErrDamaged) {
			in.counts.Damaged++
			err = os.Rename(in.path(start), in.path(start)+".damaged")
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open inbox: %w", err), in.Shut())
		}
	}
	return in, nil
}

const suffix = ".pb"

func newPane(f *os.File) *pane {
	return &pane{file: f, of: map[string]int64{}, names: map[string]int{}, seen: map[batchID]bool{}, ends: map[string]wire.WindowEnd{}}
}

// note remembers a batch that is in the file.
func (p *pane) note(start int64, id batchID, ends []wire.WindowEnd, bytes int) {
	p.seen[id] = true
	p.names[id.host]++
	p.of[id.host] += int64(bytes)
	for _, e := range ends {
		if e.Start == start {
			p.ends[id.host] = e
		}
	}
}

func nameOf(h *wire.Header) batchID { return batchID{h.Host, h.Boot, h.Sequence} }

func (in *Inbox) path(start int64) string {
	return filepath.Join(in.opt.Dir, strconv.FormatInt(start, 10)+suffix)
}

// reopen reads a window's file and cuts off what a crash left torn.
func (in *Inbox) reopen(start int64) error {
	f, err := os.OpenFile(in.path(start), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	p := newPane(f)
	rep, err := wire.Frames(f, func(b []byte) error {
		h, err := wire.DecodeHeader(b)
		if err == nil {
			err = h.Conns(b, func(*record.Conn) error { return nil }) // or the window could never be read
		}
		if err == nil {
			p.note(start, nameOf(&h), h.Ends, len(b))
		}
		return err
	})
	if err == nil && rep.TornBytes > 0 {
		err = f.Truncate(info.Size() - rep.TornBytes)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("window %d: %w", start, err), f.Close())
	}
	for host, n := range p.of {
		in.of[host] += n
	}
	p.bytes = info.Size() - rep.TornBytes
	in.panes[start] = p
	in.bytes += p.bytes
	in.counts.TornBytes += rep.TornBytes
	return nil
}
