package inbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

const (
	// maxBatches of a push: an agent sends one.
	maxBatches = 64
	// maxWindows of a batch, in whose files it is written once each: an agent's has the records of 10 s, of one window or
	// two, and at most 17 ends that waited for a disk.
	maxWindows = 32
)

// batch is one that may be taken.
type batch struct {
	id      batchID
	bytes   []byte
	ends    []wire.WindowEnd
	windows map[int64]uint64 // how many records it has of each
	late    uint64           // records of windows that are too old to be open
}

// Take keeps batches, each behind its length, of a host; now is Unix seconds. It returns when they
// are on disk, or an error: [ErrRefused] for what must not come again. A batch with records of two
// windows is in both their files. Several batches are taken one by one, so those before a refused
// one are kept.
func (in *Inbox) Take(host string, frames []byte, now int64) error {
	list, refused := in.read(host, frames, now) // whatever it costs, others do not wait for it
	if len(list) > 0 {
		if err := in.keep(list); err != nil {
			return err
		}
	}
	if refused != nil {
		return fmt.Errorf("%w: %s", ErrRefused, foreign.Cut(refused.Error(), foreign.MaxText))
	}
	return nil
}

// read returns the batches before the first that is none, or not this host's or PoP's.
func (in *Inbox) read(host string, frames []byte, now int64) (list []batch, err error) {
	rep, err := wire.Frames(bytes.NewReader(frames), func(raw []byte) error {
		if len(list) == maxBatches {
			return fmt.Errorf("more than %d batches", maxBatches)
		}
		b, err := in.check(host, raw, now)
		if err == nil {
			b.bytes = bytes.Clone(raw)
			list = append(list, b)
		}
		return err
	})
	if err == nil && rep.TornBytes > 0 {
		err = fmt.Errorf("%d bytes at the end are no batch", rep.TornBytes)
	}
	return list, err
}

// keep writes batches and syncs them. A sync takes milliseconds of a busy disk: other hosts' batches do not wait for it.
func (in *Inbox) keep(list []batch) error {
	touched, err := in.write(list)
	for p := range touched {
		serr := p.sync(touched[p])
		p.syncs.Done()
		if serr != nil {
			err = errors.Join(err, fmt.Errorf("take batch: %w: %w", errDisk, serr))
		}
	}
	return err
}

// write returns the files to sync, each with how many batches it has had by now, and with one more sync under way.
func (in *Inbox) write(list []batch) (touched map[*pane]int64, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	touched = map[*pane]int64{}
	for i := range list {
		if err = in.take(&list[i], touched); err != nil {
			break
		}
	}
	for p := range touched {
		p.syncs.Add(1)
		touched[p] = p.wrote.Add(touched[p])
	}
	return touched, err
}

// sync returns once the file's first writes batches are on the disk. Those that wait for a sync share the next one.
func (p *pane) sync(writes int64) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	if p.disk.writes < writes && p.disk.failed == nil {
		p.disk.writes = p.wrote.Load()
		p.disk.failed = p.file.Sync()
	}
	return p.disk.failed
}

var errDisk = errors.New("the disk does not take it")

func (in *Inbox) take(b *batch, touched map[*pane]int64) error {
	in.counts.Batches++
	in.counts.Late += b.late
	for _, start := range slices.Sorted(maps.Keys(b.windows)) {
		if start <= in.closed {
			in.counts.Late += b.windows[start]
			continue
		}
		p, err := in.paneOf(start)
		if err != nil {
			return err
		}
		if p.seen[b.id] {
			in.counts.Doubled++
			touched[p] += 0 // no write, but the sync of the first may be under way, or may have failed
			continue
		}
		if err := in.append(p, b.id.host, b.bytes); err != nil {
			return err
		}
		p.note(start, b.id, b.ends, len(b.bytes))
		touched[p]++
	}
	return nil
}

// check returns what a batch is; the error is its first fault.
func (in *Inbox) check(host string, raw []byte, now int64) (b batch, err error) {
	h, err := wire.DecodeHeader(raw)
	if err != nil {
		return b, err
	}
	switch {
	case h.Host != host:
		return b, fmt.Errorf("batch of host %.100q, sent with the certificate of %q", h.Host, host)
	case h.PoP != in.opt.PoP:
		return b, fmt.Errorf("batch of pop %.100q, sent with a certificate of %q", h.PoP, in.opt.PoP)
	case h.Sequence == 0 || h.Boot == (record.BootID{}):
		return b, errors.New("batch without a boot id and a sequence")
	}
	b = batch{id: nameOf(&h), ends: h.Ends, windows: map[int64]uint64{}}
	for _, e := range h.Ends {
		if err := in.count(&b, e.Start, 0, now); err != nil {
			return b, err
		}
	}
	err = h.Conns(raw, func(c *record.Conn) error { return in.count(&b, c.Window, 1, now) })
	return b, err
}

// count takes in that a batch has so many records of a window.
func (in *Inbox) count(b *batch, start int64, records uint64, now int64) error {
	switch w := in.opt.WindowSeconds; {
	case start <= 0 || start%w != 0:
		return fmt.Errorf("window %d: windows are %d s here", start, w)
	case start > now+maxAhead*w:
		return fmt.Errorf("window %d begins %d s from now: the host's clock is ahead", start, start-now)
	case start < now-maxBehind*w:
		b.late += records
		return nil
	}
	if b.windows[start] += records; len(b.windows) > maxWindows {
		return fmt.Errorf("batch of more than %d windows", maxWindows)
	}
	return nil
}

func (in *Inbox) paneOf(start int64) (*pane, error) {
	if p := in.panes[start]; p != nil {
		return p, nil
	}
	f, err := os.OpenFile(in.path(start), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err == nil {
		err = syncDir(in.opt.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("take batch: %w: %w", errDisk, err)
	}
	in.panes[start] = newPane(f)
	return in.panes[start], nil
}

// append writes a frame with one write. What a full disk took of it is cut off again.
func (in *Inbox) append(p *pane, host string, b []byte) error {
	frame := append(binary.AppendUvarint(nil, uint64(len(b))), b...)
	switch {
	case in.bytes+int64(len(frame)) > in.opt.MaxBytes:
		return fmt.Errorf("take batch: %w: fleet.spool_bytes are %d", ErrFull, in.opt.MaxBytes)
	case p.names[host] >= maxNames:
		return fmt.Errorf("take batch: %w of what %s sent: one host has at most %d batches of a window", ErrFull, host, maxNames)
	case in.of[host]+int64(len(b)) > in.opt.MaxBytes/hostParts:
		return fmt.Errorf("take batch: %w of what %s sent: one host has at most half of fleet.spool_bytes, %d", ErrFull, host, in.opt.MaxBytes)
	}
	if _, err := p.file.Write(frame); err != nil {
		return errors.Join(fmt.Errorf("take batch: %w: %w", errDisk, err), p.file.Truncate(p.bytes))
	}
	p.bytes += int64(len(frame))
	in.bytes += int64(len(frame))
	in.of[host] += int64(len(b))
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
