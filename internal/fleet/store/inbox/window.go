package inbox

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Oldest returns the start of the oldest open window that has something; 0 for none.
func (in *Inbox) Oldest() (start int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for s := range in.panes {
		if start == 0 || s < start {
			start = s
		}
	}
	return start
}

// Ends lists the hosts that have sent all of a window, by name.
func (in *Inbox) Ends(start int64) (ends []End) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if p := in.panes[start]; p != nil {
		for host, e := range p.ends {
			ends = append(ends, End{host, e})
		}
	}
	slices.SortFunc(ends, func(a, b End) int { return strings.Compare(a.Host, b.Host) })
	return ends
}

// Conns calls row for each record of a window by boot id, sequence and place in its batch, whatever
// the order in which the batches came: sums of floats depend on it. It holds the window's batches
// in memory.
func (in *Inbox) Conns(start int64, row func(host string, c *record.Conn)) error {
	batches, err := in.batches(start)
	if err != nil {
		return fmt.Errorf("read window %d: %w", start, err)
	}
	for _, b := range batches {
		err := wire.DecodeBatch(b.bytes, func(h *wire.Header, c *record.Conn) error {
			if c.Window == start {
				row(h.Host, c)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("read window %d: %w", start, err)
		}
	}
	return nil
}

func (in *Inbox) batches(start int64) (out []batch, err error) {
	in.mu.Lock()
	p := in.panes[start]
	if p == nil {
		in.mu.Unlock()
		return nil, nil
	}
	file := io.NewSectionReader(p.file, 0, p.bytes) // what comes from now on is behind it
	in.mu.Unlock()
	_, err = wire.Frames(file, func(b []byte) error {
		h, err := wire.DecodeHeader(b)
		out = append(out, batch{id: nameOf(&h), bytes: bytes.Clone(b)})
		return err
	})
	slices.SortFunc(out, func(a, b batch) int {
		return cmp.Or(bytes.Compare(a.id.boot[:], b.id.boot[:]), cmp.Compare(a.id.sequence, b.id.sequence), cmp.Compare(a.id.host, b.id.host))
	})
	return out, err
}

// Close drops a window and all before it.
func (in *Inbox) Close(start int64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = max(in.closed, start)
	var errs []error
	for s, p := range in.panes {
		if s <= start {
			errs = append(errs, p.close(), os.Remove(in.path(s)))
			in.bytes -= p.bytes
			for host, n := range p.of {
				if in.of[host] -= n; in.of[host] <= 0 {
					delete(in.of, host)
				}
			}
			delete(in.panes, s)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("drop window %d: %w", start, err)
	}
	return nil
}

// close waits for the syncs under way, for which their callers wait as well.
func (p *pane) close() error {
	p.syncs.Wait()
	return p.file.Close()
}

// Counts returns the counts so far.
func (in *Inbox) Counts() Counts {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.counts
}

// Shut closes the files.
func (in *Inbox) Shut() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	var errs []error
	for _, p := range in.panes {
		errs = append(errs, p.close())
	}
	in.panes = map[int64]*pane{}
	return errors.Join(errs...)
}
