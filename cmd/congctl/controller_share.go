//go:build !small

package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/commitlog"
	"github.com/congctl/congctl/internal/fleet/store/kafka"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
)

// This file is a controller whose PoPs come and go: Kafka's consumer group says which are its own, and the log that only
// one can append to makes sure of it (docs/fleet.md).

// sharing is the part of an office that takes PoPs over and gives them up.
type sharing struct {
	office *office
	topic  kafka.Address
	self   mtls.Identity
	creds  *mtls.Credentials

	mu      sync.Mutex // guards these
	group   *kafka.Shares
	away    error // why there is no group
	ctx     context.Context
	tenures map[string]*tenure

	rooms  map[string]*room // of each PoP
	asking sync.Mutex       // guards said
	said   map[string]holder
}

// tenure is the time in which a PoP is this controller's.
type tenure struct {
	end  context.CancelFunc
	over chan struct{}
}

// openShares makes each PoP's key, which agents must know before this controller has the PoP for the first time.
func (o *office) openShares(ctx context.Context, creds *mtls.Credentials, self mtls.Identity) error {
	topic, err := kafka.ParseAddress(o.cfg.Fleet.Kafka)
	if err != nil {
		return usage(err)
	}
	for _, name := range o.cfg.Fleet.PoPs {
		key, err := o.keyOf(ctx, name)
		if err != nil {
			return fmt.Errorf("open pop %s: %w", name, err)
		}
		o.logKey(name, key.Public().(ed25519.PublicKey))
	}
	o.share = &sharing{office: o, topic: topic, self: self, creds: creds, tenures: map[string]*tenure{}, rooms: map[string]*room{}, said: map[string]holder{}}
	for _, name := range o.cfg.Fleet.PoPs {
		o.share.rooms[name] = newRoom()
	}
	return nil
}

func (o *office) keyOf(ctx context.Context, name string) (key ed25519.PrivateKey, err error) {
	p, err := o.prepare(name)
	if err != nil {
		return nil, err
	}
	s, err := openStore(ctx, p.cfg, sqlite.Options{CreatedBy: "congctl " + version, At: time.Now()})
	if err != nil {
		return nil, err
	}
	key, err = controller.Key(ctx, s)
	return key, errors.Join(err, s.Close())
}

// run decides for what is this controller's until ctx ends.
func (s *sharing) run(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	if err := reach(ctx, s.office.log, s.join); err != nil || ctx.Err() != nil {
		return err
	}
	<-ctx.Done()
	s.settle(func(string) bool { return false }) // first: the others need not fence what is given up
	s.group.Close()
	return nil
}

// join keeps what it lacks for ready.
func (s *sharing) join(ctx context.Context) error {
	group, err := kafka.JoinShares(ctx, s.topic, s.self.Name, s.settle)
	if err != nil {
		group, err = nil, storeError(s.topic.String(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.group, s.away = group, err
	return err
}

func (s *sharing) lacks() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away
}

// settle begins and ends tenures. It returns when those that end have.
func (s *sharing) settle(mine func(pop string) bool) {
	s.mu.Lock()
	var ending []*tenure
	for _, name := range s.office.cfg.Fleet.PoPs {
		t := s.tenures[name]
		switch {
		case t == nil && mine(name) && s.ctx.Err() == nil:
			s.tenures[name] = s.begin(name)
		case t != nil && !mine(name):
			t.end()
			delete(s.tenures, name)
			ending = append(ending, t)
		}
	}
	s.mu.Unlock()
	for _, t := range ending {
		<-t.over
	}
}

// takeAgain is how long to wait after a PoP was lost, or could not be taken, that the group still gives to this
// controller.
const takeAgain = 2 * time.Second

func (s *sharing) begin(name string) *tenure {
	ctx, end := context.WithCancel(s.ctx)
	t := &tenure{end: end, over: make(chan struct{})}
	go func() {
		defer close(t.over)
		for ctx.Err() == nil {
			if err := s.decide(ctx, name); err != nil {
				s.office.log.Warn("pop "+name+" is not decided here any more, or not yet", "err", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(takeAgain):
			}
		}
	}()
	return t
}

// decide takes a PoP and decides for it until ctx ends, or its log is another's.
func (s *sharing) decide(ctx context.Context, name string) (err error) {
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	p, err := s.office.prepare(name)
	if err != nil {
		return err
	}
	log, err := kafka.TakeLog(ctx, s.topic, name)
	if err != nil {
		return err
	}
	p.held, p.close = ctx, append(p.close, func() error { log.Close(); return nil })
	p.follow = func(ctx context.Context, store *sqlite.Store) (controller.Store, error) {
		kept, found, err := commitlog.Take(ctx, store, log, commitlog.Options{PoP: name, By: s.self.Name, Signer: s.creds, Now: time.Now, Lost: lost})
		if err == nil {
			err = s.told(ctx, p, kept, found)
		}
		return kept, err
	}
	if err := p.open(ctx, s.office.rules); err != nil {
		return errors.Join(err, p.shut())
	}
	s.office.put(name, p)
	s.moveIn(ctx, p)
	p.Run(ctx)
	s.office.put(name, nil)
	p.leave()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return errors.Join(err, p.shut())
	}
	p.log.Info("given up: another controller may decide")
	return p.shut()
}

// told keeps an event of a take-over.
func (s *sharing) told(ctx context.Context, p *popOffice, kept *commitlog.Store, t commitlog.Taken) error {
	text := fmt.Sprintf("decided by %s from now on: generation %d, %d commits of others read", s.self, t.Generation, t.Commits)
	if t.Missing > 0 {
		text += fmt.Sprintf("; %d more are missing, which the topic of commits no longer has", t.Missing)
	}
	if t.Fenced > 0 {
		text += fmt.Sprintf("; %d of a controller that had lost the PoP are left out", t.Fenced)
	}
	p.log.Info(text)
	return kept.CommitRound(ctx, eventOf(commitlog.KindTaken, text))
}

// put makes a PoP answer from now on, or with nil no longer.
func (o *office) put(name string, p *popOffice) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pops[name] = p; p == nil {
		delete(o.pops, name)
	}
}

// leaveWait is for requests that are being answered; those that follow end with the tenure.
const leaveWait = 5 * time.Second

// leave waits for the PoP's requests, of which one may hang.
func (p *popOffice) leave() {
	left := make(chan struct{})
	go func() { defer close(left); p.users.Wait() }()
	select {
	case <-left:
	case <-time.After(leaveWait):
	}
}

// holder is the controller that has a PoP, as Kafka last reported.
type holder struct {
	name  string
	until time.Time
}

// askAgain keeps the agents of a PoP from becoming as many questions to Kafka.
const askAgain = 2 * time.Second

func (s *sharing) holder(ctx context.Context, pop string) string {
	s.mu.Lock()
	group := s.group
	s.mu.Unlock()
	s.asking.Lock()
	defer s.asking.Unlock()
	h := s.said[pop]
	if time.Now().After(h.until) && group != nil {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), ownerWait)
		defer done()
		h.name, _ = group.Owner(ctx, pop) // "" after an error, too
		h.until = time.Now().Add(askAgain)
		s.said[pop] = h
	}
	return h.name
}

// elsewhere is the answer about a PoP that is not this controller's.
func (s *sharing) elsewhere(ctx context.Context, pop string) error {
	name := s.holder(ctx, pop)
	text := "pop " + pop + " is not decided here, but by controller " + name
	switch name {
	case "":
		text = "pop " + pop + " is not decided here, and Kafka names no controller that does"
	case s.self.Name:
		text = "pop " + pop + " is being taken over here: ask again in a moment"
	}
	return &control.Error{Text: text, Hint: "list all controllers in fleet.controller", Code: control.Elsewhere}
}

func eventOf(kind, text string) *journal.Commit {
	return &journal.Commit{Events: []journal.Event{{At: time.Now().Unix(), Kind: kind, Text: text}}}
}
