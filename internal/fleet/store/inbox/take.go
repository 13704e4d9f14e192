package inbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Take keeps batches, each behind its length, of a host; now is Unix seconds. It returns when they
// are on disk, or an error: [ErrRefused] for what must not come again. A batch with records of two
// windows is in both their files. Several batches are taken one by one, so those before a refused
// one are kept.
func (in *Inbox) Take(host string, frames []byte, now int64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	touched := map[*pane]bool{}
	rep, err := wire.Frames(bytes.NewReader(frames), func(b []byte) error { return in.take(host, b, now, touched) })
	if err == nil && rep.TornBytes > 0 {
		err = fmt.Errorf("%d bytes at the end are no batch", rep.TornBytes)
	}
	if err != nil && !errors.Is(err, ErrFull) && !errors.Is(err, errDisk) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for p := range touched {
		if serr := p.file.Sync(); serr != nil {
			err = errors.Join(err, fmt.Errorf("take batch: %w: %w", errDisk, serr))
		}
	}
	return err
}

var errDisk = errors.New("the disk does not take it")

func (in *Inbox) take(host string, b []byte, now int64, touched map[*pane]bool) error {
	h, windows, err := in.check(host, b, now)
	if err != nil {
		return err
	}
	in.counts.Batches++
	for _, start := range slices.Sorted(maps.Keys(windows)) {
		if start <= in.closed || start < now-maxBehind*in.opt.WindowSeconds {
			in.counts.Late += windows[start]
			continue
		}
		p, err := in.paneOf(start)
		if err != nil {
			return err
		}
		if p.seen[nameOf(&h)] {
			in.counts.Doubled++
			continue
		}
		if err := in.append(p, host, b); err != nil {
			return err
		}
		p.note(start, &h, len(b))
		touched[p] = true
	}
	return nil
}

// check returns what a batch is and how many records it has of each window.
func (in *Inbox) check(host string, b []byte, now int64) (h wire.Header, windows map[int64]uint64, err error) {
	if h, err = wire.DecodeHeader(b); err != nil {
		return h, nil, err
	}
	switch {
	case h.Host != host:
		return h, nil, fmt.Errorf("batch of host %q, sent with the certificate of %q", h.Host, host)
	case h.PoP != in.opt.PoP:
		return h, nil, fmt.Errorf("batch of pop %q, sent with a certificate of %q", h.PoP, in.opt.PoP)
	case h.Sequence == 0 || h.Boot == (record.BootID{}):
		return h, nil, errors.New("batch without a boot id and a sequence")
	}
	windows = map[int64]uint64{}
	for _, e := range h.Ends {
		windows[e.Start] += 0
	}
	err = wire.DecodeBatch(b, func(_ *wire.Header, c *record.Conn) error { windows[c.Window]++; return nil })
	for start := range windows {
		switch w := in.opt.WindowSeconds; {
		case start <= 0 || start%w != 0:
			err = errors.Join(err, fmt.Errorf("window %d: windows are %d s here", start, w))
		case start > now+maxAhead*w:
			err = errors.Join(err, fmt.Errorf("window %d begins %d s from now: the host's clock is ahead", start, start-now))
		}
	}
	return h, windows, err
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
