package commitlog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
)

// Log is a PoP's log, for the one that took it last. The offsets of what is appended rise.
type Log interface {
	// Append puts a body at the end, whole or not at all, and fails when another has taken the log.
	Append(ctx context.Context, body []byte) (offset int64, err error)
	// Read calls each with what is there from one offset to another, in order.
	Read(ctx context.Context, from, until int64, each func(offset int64, body []byte) error) error
	// Partitions is a number on which depends where the PoP's log is.
	Partitions() int
}

// Options of a store.
type Options struct {
	PoP, By string // By is this controller's name
	Signer  Signer
	Now     func() time.Time
	// Lost is called once, when the log can no longer be appended to.
	Lost func(error)
}

// Store is a store whose commits are in the log first. Reading and pruning are the local store's.
type Store struct {
	*sqlite.Store
	log Log
	opt Options

	mu         sync.Mutex // guards all below
	at         position
	generation int64
	kept       map[string][]byte // settings that the log has
	broken     error
}

// settingPosition is how far the local store has followed the log. It is written with each commit.
const settingPosition = "log_position"

// local reports whether a setting stays on this host: each controller signs with keys of its own.
func local(key string) bool {
	return slices.Contains([]string{journal.SettingSigningKey, journal.SettingNextKey, journal.SettingPastKeys, settingPosition}, key)
}

// shared returns the settings without those that stay on a host.
func shared(settings map[string][]byte) map[string][]byte {
	out := maps.Clone(settings)
	maps.DeleteFunc(out, func(key string, _ []byte) bool { return local(key) })
	return out
}

// position is a place in the log.
type position struct {
	sequence   int64 // of the last commit that the store has
	offset     int64 // of that commit, or of one before it
	partitions int
}

func (p position) text() []byte {
	return fmt.Appendf(nil, "%d %d %d", p.sequence, p.offset, p.partitions)
}

// positionOf reads the place; ok is false for a store that never followed a log.
func positionOf(settings map[string][]byte) (p position, ok bool, err error) {
	text, ok := settings[settingPosition]
	if ok {
		_, err = fmt.Sscanf(string(text), "%d %d %d", &p.sequence, &p.offset, &p.partitions)
	}
	if err != nil {
		err = fmt.Errorf("read setting %s: %q: %w", settingPosition, text, err)
	}
	return p, ok, err
}

// CommitRound implements controller.Store: the log has c when this returns nil, and before the local store has. Only that
// has the keys of c.
func (s *Store) CommitRound(ctx context.Context, c *journal.Commit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return fmt.Errorf("commit: %w", s.broken)
	}
	e := s.entry(c)
	mine := e.journal()
	mine.Settings = merged(e.Settings, c.Settings)
	ctx = context.WithoutCancel(ctx) // a request that is given up halfway would leave it unknown whether the log has c
	next := position{sequence: e.Sequence, offset: s.at.offset, partitions: s.log.Partitions()}
	appended, asked := int64(0), false
	err := s.CommitAfter(ctx, here(mine, next), func() error {
		body, err := e.signed(s.opt.Signer)
		if err != nil {
			return err
		}
		asked = true
		appended, err = s.log.Append(ctx, body)
		return err
	})
	switch {
	case err != nil && asked: // the log may have it
		s.broken = err
		s.opt.Lost(err)
		return err
	case err != nil:
		return err
	}
	s.at, s.at.offset = next, appended
	s.keep(e.Settings)
	return nil
}

// entry makes an entry of a commit. That of a window repeats all settings, so that they outlast what the
// retention removes.
func (s *Store) entry(c *journal.Commit) *entry {
	e := &entry{PoP: s.opt.PoP, By: s.opt.By, At: s.opt.Now().Unix(), Generation: s.generation, Sequence: s.at.sequence + 1, commit: commitOf(c)}
	e.Settings = shared(c.Settings)
	if c.Closed {
		e.Settings = merged(s.kept, e.Settings)
	}
	return e
}

// merged has what b says where both have a setting.
func merged(a, b map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// here adds the store's place to what it commits.
func here(c *journal.Commit, at position) *journal.Commit {
	c.Settings = merged(c.Settings, map[string][]byte{settingPosition: at.text()})
	return c
}

func (s *Store) keep(settings map[string][]byte) {
	for key, value := range settings {
		if s.kept[key] = value; value == nil {
			delete(s.kept, key)
		}
	}
}

// SetSetting implements controller.Store.
func (s *Store) SetSetting(ctx context.Context, key string, value []byte) error {
	if local(key) {
		return s.Store.SetSetting(ctx, key, value)
	}
	return s.CommitRound(ctx, &journal.Commit{Settings: map[string][]byte{key: value}})
}
