//go:build !small

package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/fleet/halt"
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
}

// tenure is the time in which a PoP is this controller's.
type tenure struct {
	end  context.CancelFunc
	over chan struct{}
}

// openShares makes each PoP's key, which agents must know before this controller has the PoP for the first time.
func (o *office) openShares(ctx context.Context, creds *mtls.Credentials, self mtls.Identity) error {
	topic, err := topicOf("fleet.kafka", o.cfg.Fleet.Kafka)
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
	o.share = &sharing{office: o, topic: topic, self: self, creds: creds, tenures: map[string]*tenure{}}
	o.rooms = map[string]*halt.Room{}
	for _, name := range o.cfg.Fleet.PoPs {
		o.rooms[name] = halt.NewRoom(halt.Options{PoP: name, Self: self.Name, Peers: peers{o.share, name}, Refused: o.refusals.Say, Here: func() *halt.Switch {
			if p := o.present(name); p != nil {
				return p.halt
			}
			return nil
		}})
	}
	return nil
}

// peers are the controllers that share a PoP.
type peers struct {
	*sharing
	pop string
}

func (s peers) Owner(ctx context.Context) (name string, ok bool) {
	s.mu.Lock()
	group := s.group
	s.mu.Unlock()
	if group != nil {
		name, _ = group.Owner(ctx, s.pop) // "" after an error, too
	}
	return name, group != nil
}

func (s peers) Sign(id, by string) ([]byte, error) {
	return commitlog.Halt{PoP: s.pop, ID: id, By: by, Controller: s.self.Name, At: time.Now().Unix()}.Sign(s.creds)
}

func (s peers) Read(text []byte) (id, by string, err error) {
	h, err := commitlog.ReadHalt(text, s.pop, s.creds)
	return h.ID, h.String(), err
}

// stops answers a request to stop a PoP that no controller is known to have, and reports whether this was one.
func (o *office) stops(w http.ResponseWriter, r *http.Request, pop string) bool {
	h, room := control.NewHandler(o.log.With("pop", pop), callerOf), o.rooms[pop]
	control.HandleStop(h, room.Stop)
	h.Refused(because)
	if !h.Acts(strings.TrimPrefix(r.URL.Path, popPath(pop))) || !room.Vacant(r.Context()) {
		return false
	}
	http.StripPrefix(popPath(pop), permitted(pop, h)).ServeHTTP(w, r)
	return true
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
	if err := p.halt.MoveIn(ctx); err != nil {
		p.log.Error("a stop is not stored yet", "err", err)
	}
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

func eventOf(kind, text string) *journal.Commit {
	return &journal.Commit{Events: []journal.Event{{At: time.Now().Unix(), Kind: kind, Text: text}}}
}
