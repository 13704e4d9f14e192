package limit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/linux/clock"
	"github.com/congctl/congctl/internal/linux/instance"
	"github.com/congctl/congctl/internal/linux/nsthread"
)

// Pending is a limit that is reverted unless somebody confirms it: one set over a connection
// that it slows may have cut its owner off. Files that keep it after a boot, and those of
// an earlier limit, are written on confirmation, so that a reboot helps too.
type Pending struct {
	Link  string        `json:"link"`
	Netns string        `json:"netns,omitempty"`
	At    *change.Link  `json:"at,omitempty"` // the link by its index
	ID    string        `json:"id"`           // of the journal
	Until time.Time     `json:"until"`        // for people
	End   time.Duration `json:"end_boottime"` // what counts: the wall clock may be set meanwhile
	Boot  string        `json:"boot"`
	Then  Request       `json:"then"` // once it is confirmed
	id    string        // of its file
}

// ErrPending means that a limit waits to be confirmed.
var ErrPending = errors.New("the last limit is not confirmed")

// ErrNoneWaits means that none does.
var ErrNoneWaits = errors.New("no limit waits for confirmation")

// grace is how late the child may be on a busy host.
const grace = 10 * time.Second

func (h *Host) pendingPath(id string) string {
	return filepath.Join(h.Root, h.dir, pendingName(id))
}

const pendingBegin, pendingEnd = "pending-", ".json"

func pendingName(id string) string { return pendingBegin + id + pendingEnd }

// sinceBoot returns CLOCK_BOOTTIME, which runs while a host sleeps and is never set.
func sinceBoot() time.Duration {
	_, ns := clock.Now()
	return time.Duration(ns)
}

// Waits returns what waits to be confirmed on a link, nil for nothing. What a reboot or a
// killed child left no longer counts.
func (h *Host) Waits(link string) (*Pending, error) {
	p, err := h.note(link)
	if p != nil && h.clock() > p.End+grace {
		return nil, nil
	}
	return p, err
}

// unconfirmed describes a limit that waits, or whose time is over although it still holds: the
// child was killed, or could not revert it. It returns nothing to a user that may not read
// the notes.
func (h *Host) unconfirmed(link string) []string {
	p, err := h.note(link)
	if err != nil || p == nil {
		return nil
	}
	until := p.Until.Format(time.TimeOnly)
	if h.clock() <= p.End+grace {
		return []string{fmt.Sprintf("the limit is not confirmed and goes away at %s; congctl shape confirm %s keeps it", until, link)}
	}
	return []string{fmt.Sprintf("the limit was not confirmed by %s, but it is still in place: congctl shape clear %s removes it; congctl shape set with --no-confirm keeps it", until, link)}
}

// free returns an error while a limit waits to be confirmed.
func (h *Host) free(link string) error {
	p, err := h.Waits(link)
	if p != nil {
		return fmt.Errorf("shape %s: %w; confirm it, or wait until it goes away at %s", link, ErrPending, p.Until.Format(time.TimeOnly))
	}
	return err
}

// note returns what this boot noted of a link, however long ago. What cannot be read may be about this link.
func (h *Host) note(link string) (*Pending, error) {
	names, err := h.disk.List(h.dir)
	here, idErr := nsthread.Identity()
	if err = errors.Join(err, idErr); err != nil {
		return nil, fmt.Errorf("read the unconfirmed limits: %w", err)
	}
	for _, name := range names {
		id, isNote := strings.CutPrefix(name, pendingBegin)
		if id, isNote = strings.CutSuffix(id, pendingEnd); !isNote {
			continue
		}
		p, e := h.noteOf(id)
		err = errors.Join(err, e)
		if p != nil && (p.Netns == "" || p.Netns == here) {
			if name, _ := h.nameToday(p.Link, change.Header{Boot: p.Boot, Link: p.At}); name == link {
				p.id = id
				return p, nil
			}
		}
	}
	return nil, err
}

// noteOf returns what this boot noted of a journal, however long ago: a late child must not take
// that for a confirmation.
func (h *Host) noteOf(id string) (*Pending, error) {
	b, err := h.disk.ReadOwn(path.Join(h.dir, pendingName(id)))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the unconfirmed limit: %w", err)
	}
	// It is written whole or not at all: a torn one was left by a power cut, and so belongs to an
	// earlier boot.
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
		err = os.WriteFile(h.pendingPath(p.ID)+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(h.pendingPath(p.ID)+".new", h.pendingPath(p.ID))
	}
	if err != nil {
		return fmt.Errorf("record the unconfirmed limit: %w", err)
	}
	return nil
}

// Guarded makes a limit wait to be confirmed: the note, and with start the process that
// reverts it, exist before the first write, so that nothing in between can leave the limit.
// Without them nothing is written.
func (h *Host) Guarded(p Pending, within time.Duration, start func(id string) error) Guard {
	return func(id string) error {
		p.ID, p.Until, p.End, p.At = id, time.Now().Add(within), h.clock()+within, identity(p.Link)
		here, err := nsthread.Identity()
		if p.Netns = here; err == nil {
			err = h.Await(p)
		}
		if err != nil {
			return err
		}
		if err := start(id); err != nil {
			return fmt.Errorf("start the process that reverts an unconfirmed limit: %w; nothing was written", err)
		}
		return nil
	}
}

// Confirm makes a limit stay, and does what waited for that. With an error, p is of a limit that
// stays, but only until the next boot.
func (h *Host) Confirm(link string, now time.Time) (done Proposal, p *Pending, err error) {
	if p, err = h.settle(link); err == nil {
		p.Then.Link = link // renamed since, perhaps
		done, err = h.Set(p.Then, "congctl shape confirm "+link, now, nil)
	}
	return done, p, err
}

// settle takes the note of a limit. Either settle or the child that reverts removes it, under
// the lock, and only that one goes on.
func (h *Host) settle(link string) (p *Pending, err error) {
	none := fmt.Errorf("confirm %s: %w", link, ErrNoneWaits)
	if p, err := h.Waits(link); err != nil || p == nil {
		return nil, cmp.Or(err, none) // nothing to confirm leaves nothing on the disk
	}
	err = h.locked(func() error {
		if p, err = h.Waits(link); err == nil && (p == nil || !h.take(link)) {
			p, err = nil, none
		}
		return err
	})
	return p, err
}

func (h *Host) take(link string) bool {
	p, err := h.note(link)
	return err == nil && p != nil && os.Remove(h.pendingPath(p.id)) == nil
}

// patience is how long the child tries to revert the limit: a lock is held for seconds, a
// disk is full for minutes.
const patience = 5 * time.Minute

// pause after a failed try: each may add lines to the journal.
const pause = time.Second

// tick is how often the child checks whether the note has gone.
const tick = 200 * time.Millisecond

// RevertUnless waits until the note has gone or its time is over, and then reverts the
// limit.
func (h *Host) RevertUnless(link, id string, after time.Duration) error {
	for end := h.clock() + after; h.clock() < end; time.Sleep(min(tick, after)) {
		if h.confirmed(id) {
			return nil
		}
	}
	// Another change may be under way on this host, or its disk may be full for a while.
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

// revertOnce removes the note with the limit: as long as the limit holds, it can be confirmed.
func (h *Host) revertOnce(link, id string) error {
	return h.locked(func() error {
		if h.confirmed(id) {
			return nil
		}
		err := h.revert(h.linkOf(link, id), id)
		if err == nil || errors.Is(err, errForeign) {
			_ = os.Remove(h.pendingPath(id)) // a note that stays says that the limit does, and show compares
		}
		return err
	})
}

// confirmed reports whether the note has gone. A note that cannot be read is no confirmation.
func (h *Host) confirmed(id string) bool {
	p, err := h.noteOf(id)
	return err == nil && p == nil
}

// waits is what the child says once it waits.
const waits = "waits\n"

// Revert waits, and reverts a limit that was not confirmed. If it is ended early it reverts the
// limit at once, since no one would do it later. It says so on out once that holds.
func (h *Host) Revert(link, id string, after time.Duration, out io.Writer) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	defer signal.Stop(ended)
	// Where the parent has gone the limit must go all the same.
	_, _ = fmt.Fprint(out, waits)
	waited := make(chan error, 1)
	go func() { waited <- h.RevertUnless(link, id, after) }()
	select {
	case err := <-waited:
		return err
	case <-ended:
		return errors.Join(h.RevertUnless(link, id, 0), <-waited)
	}
}

// StartRevert starts the command that calls Revert, and waits until that waits.
func (h *Host) StartRevert(words []string) error {
	if scoped := inScope(h.Root, words); scoped != nil && startWaiting(scoped) == nil {
		return nil
	}
	return startWaiting(words)
}

// inScope runs a command in a systemd scope of its own, nil without systemd: logind may
// end everything in a session's scope with the session (KillUserProcesses). A service
// would outlive the session too, but in the first network namespace.
func inScope(root string, words []string) []string {
	if _, err := os.Stat(filepath.Join(root, "/run/systemd/system")); err != nil {
		return nil
	}
	run, err := exec.LookPath("systemd-run")
	if err != nil {
		return nil
	}
	return append([]string{run, "--scope", "--quiet", "--description=congctl shape revert", "--"}, words...)
}

// startWaiting starts a child in its own session, so that a hang-up does not end it.
func startWaiting(words []string) error {
	child := exec.Command(words[0], words[1:]...)
	child.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	ready := make([]byte, len(waits))
	if _, err := io.ReadFull(out, ready); err != nil || string(ready) != waits {
		return errors.Join(errors.New("it ended before it waited"), child.Wait())
	}
	return child.Process.Release()
}
