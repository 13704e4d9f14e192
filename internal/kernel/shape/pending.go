package shape

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/congctl/congctl/internal/kernel/clock"
	"github.com/congctl/congctl/internal/kernel/instance"
)

// Pending is a limit that goes away again unless somebody confirms it: one set over a
// connection that it slows may have cut its owner off. Files that keep it after a boot,
// and those of an earlier limit, are written when it is confirmed: a reboot helps, too.
type Pending struct {
	Link  string        `json:"link"`
	ID    string        `json:"id"`           // of the journal
	Until time.Time     `json:"until"`        // for people
	End   time.Duration `json:"end_boottime"` // what counts: the wall clock may be set meanwhile
	Boot  string        `json:"boot"`
	Then  Request       `json:"then"` // once it is confirmed
}

// ErrPending says that a limit waits to be confirmed.
var ErrPending = errors.New("the last limit waits to be confirmed")

// ErrNoneWaits says that none does.
var ErrNoneWaits = errors.New("nothing waits to be confirmed")

// grace is how much later than its time the child may be on a busy host.
const grace = 10 * time.Second

func (h *Host) pendingPath(link string) string {
	return filepath.Join(h.Root, h.dir, "pending-"+link+".json")
}

// sinceBoot is CLOCK_BOOTTIME, which goes on while a host sleeps and is never set.
func sinceBoot() time.Duration {
	_, ns := clock.Now()
	return time.Duration(ns)
}

// Waits gives what waits to be confirmed on a link, nil for nothing. What a reboot or a
// killed child left counts no longer.
func (h *Host) Waits(link string) (*Pending, error) {
	p, err := h.note(link)
	if p != nil && h.clock() > p.End+grace {
		return nil, nil
	}
	return p, err
}

// unconfirmed tells of a limit that waits, or whose time is over though it is still there:
// the child was killed, or could not take it back. Who may not read the notes is told nothing.
func (h *Host) unconfirmed(link string) []string {
	p, err := h.note(link)
	if err != nil || p == nil {
		return nil
	}
	until := p.Until.Format(time.TimeOnly)
	if h.clock() <= p.End+grace {
		return []string{fmt.Sprintf("the limit waits to be confirmed until %s: congctl shape confirm %s keeps it", until, link)}
	}
	return []string{fmt.Sprintf("nobody confirmed the limit until %s, and what takes it back has not: congctl shape clear %s does; congctl shape set with --no-confirm keeps it", until, link)}
}

// free is an error while a limit waits to be confirmed.
func (h *Host) free(link string) error {
	p, err := h.Waits(link)
	if p != nil {
		return fmt.Errorf("shape %s: %w until %s; confirm it, or wait until it goes away", link, ErrPending, p.Until.Format(time.TimeOnly))
	}
	return err
}

// note is what this boot noted of a link, however long ago: a child that comes late must
// not take that for a confirmation.
func (h *Host) note(link string) (*Pending, error) {
	b, err := os.ReadFile(h.pendingPath(link))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what waits to be confirmed: %w", err)
	}
	// It is written as a whole or not at all: a torn one was left by a power cut, and so
	// is of an earlier boot.
	var p Pending
	if json.Unmarshal(b, &p) != nil || p.Boot != h.boot {
		return nil, nil
	}
	return &p, nil
}

// Await notes that a limit waits to be confirmed.
func (h *Host) Await(p Pending) error {
	p.Boot = h.boot
	b, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(h.pendingPath(p.Link)+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(h.pendingPath(p.Link)+".new", h.pendingPath(p.Link))
	}
	if err != nil {
		return fmt.Errorf("note what waits to be confirmed: %w", err)
	}
	return nil
}

// Guarded has a limit wait to be confirmed: the note, and with start the process that
// takes it back, are there before the first write, so that nothing that happens between
// leaves the limit. Without them nothing is written.
func (h *Host) Guarded(p Pending, within time.Duration, start func(id string) error) Guard {
	return func(id string) error {
		p.ID, p.Until, p.End = id, time.Now().Add(within), h.clock()+within
		if err := h.Await(p); err != nil {
			return err
		}
		if err := start(id); err != nil {
			return fmt.Errorf("start what would take the limit back: %w; nothing was written", err)
		}
		return nil
	}
}

// Confirm makes a limit stay. Of Confirm and the child that reverts, one takes the note
// away, under the lock, and only that one goes on.
func (h *Host) Confirm(link string) (p *Pending, err error) {
	none := fmt.Errorf("confirm %s: %w", link, ErrNoneWaits)
	if p, err := h.Waits(link); err != nil || p == nil {
		return nil, cmp.Or(err, none) // nothing is made on the disk for what is not there
	}
	err = h.locked(func() error {
		if p, err = h.Waits(link); err == nil && (p == nil || !h.take(link)) {
			err = none
		}
		return err
	})
	return p, err
}

func (h *Host) take(link string) bool { return os.Remove(h.pendingPath(link)) == nil }

// patience is for how long the child tries to take the limit back: a lock is held for
// seconds, a disk is full for minutes.
const patience = 5 * time.Minute

// pause after a try that failed: each may add lines to the journal.
const pause = time.Second

// tick is how often the child looks whether the note has gone.
const tick = 200 * time.Millisecond

// RevertUnless waits until the note has gone or its time is over, and then takes the
// limit back.
func (h *Host) RevertUnless(link, id string, after time.Duration) error {
	for end := h.clock() + after; h.clock() < end; time.Sleep(min(tick, after)) {
		if h.confirmed(link, id) {
			return nil
		}
	}
	// Another change may be under way on this host, or its disk be full for a while.
	for end := time.Now().Add(patience); ; {
		err := h.revertOnce(link, id)
		switch {
		case err == nil, errors.Is(err, errForeign), time.Now().After(end):
			return err
		case errors.Is(err, instance.ErrRunning):
			time.Sleep(tick)
		default:
			time.Sleep(pause)
		}
	}
}

// revertOnce takes the note away with the limit: while the limit is there, it can be
// confirmed.
func (h *Host) revertOnce(link, id string) error {
	return h.locked(func() error {
		if h.confirmed(link, id) {
			return nil
		}
		err := h.revert(link, id)
		if err == nil || errors.Is(err, errForeign) {
			h.take(link)
		}
		return err
	})
}

// confirmed tells whether the note has gone. One that cannot be read is no confirmation.
func (h *Host) confirmed(link, id string) bool {
	p, err := h.note(link)
	return err == nil && (p == nil || p.ID != id)
}
