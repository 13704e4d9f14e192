package pop

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/congctl/congctl/internal/fleet/rollout"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// This file is the PoP as loop/controller's host: what it puts in force goes out to many.

// Plans is where the controller keeps what it signed.
type Plans interface {
	// Signed returns the text of a plan.
	Signed(ctx context.Context, serial record.PlanID) ([]byte, error)
	// Rewrite signs the content of an earlier plan anew, serial 0 for a plan without entries, and
	// puts it in force. It also freezes: the next round would select again what failed.
	Rewrite(ctx context.Context, serial record.PlanID) error
	// Remember keeps a value over a restart.
	Remember(ctx context.Context, key string, value []byte) error
}

// Order is what one host must do now; a later one replaces all of it.
type Order struct {
	Stopped, Evict bool
	Plan           []byte // signed text; nil: keep what is in force
	Stop           []byte // with Stopped: a stop that no log has yet, signed; of fleet/halt
	ClientKeys     []record.ClientKey
}

// Takes describes the plans that a host accepts.
type Takes struct {
	Keys      []string // ids of the keys that it trusts
	PlanBytes int      // maximum length of a plan; 0 for an older agent, which does not say
}

// stream is one host's connection.
type stream struct {
	takes Takes
	gone  chan struct{} // closed when a later stream of the host takes over
	wake  chan struct{}
	order Order
	// evicted takes the answer to an eviction, once.
	evicted chan<- uint64
}

// errReplaced ends a stream: two agents with one certificate would take turns, so it is told.
var errReplaced = errors.New("another agent with this host's name has connected")

// Follow is a host's stream of orders, until ctx ends, send fails or the host connects anew.
func (p *PoP) Follow(ctx context.Context, c rollout.Connect, takes Takes, send func(Order) error) error {
	s := &stream{takes: takes, gone: make(chan struct{}), wake: make(chan struct{}, 1)}
	p.mu.Lock()
	if was := p.streams[c.Host]; was != nil {
		close(was.gone)
		_ = p.step(ctx, rollout.Disconnect{Host: c.Host})
	}
	p.streams[c.Host] = s
	s.order.Stopped = p.roll.State.Killed
	s.signal() // what holds, before anything that changes
	_ = p.step(ctx, c)
	p.mu.Unlock()
	defer p.left(context.WithoutCancel(ctx), c.Host, s)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.gone:
			return errReplaced
		case <-s.wake:
		}
		p.mu.Lock()
		o := s.order
		s.order.Plan, s.order.Evict = nil, false
		o.ClientKeys = p.clientKeys()
		p.mu.Unlock()
		if err := send(o); err != nil {
			return err
		}
	}
}

// clientKeys returns the keys of today and of tomorrow. A plan is renewed several times a day, so a host has
// tomorrow's before it needs it.
func (p *PoP) clientKeys() (keys []record.ClientKey) {
	today := record.ClientDay(p.now().Unix())
	for day := today; day <= today+1; day++ {
		key, err := hkdf.Key(sha256.New, p.opt.Key, nil, fmt.Sprintf("client numbers %s %d", p.opt.Name, day), 32)
		if err != nil {
			panic(err) // 32 bytes can be had
		}
		keys = append(keys, record.ClientKey{Day: day, Key: key})
	}
	return keys
}

func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (p *PoP) left(ctx context.Context, host string, s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams[host] == s {
		delete(p.streams, host)
		_ = p.step(ctx, rollout.Disconnect{Host: host})
	}
}

// Report is what became of a host's order.
type Report struct {
	Plan    record.PlanID
	Hash    string
	InForce int // prefixes read back from the kernel
	Refusal string
	Stopped bool
	Evict   bool   // the order was one to evict,
	Evicted uint64 // and moved so many connections back
}

// Report takes it.
func (p *PoP) Report(ctx context.Context, host string, r Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.streams[host]; s != nil && s.evicted != nil && r.Evict {
		s.evicted <- r.Evicted
		s.evicted = nil
	}
	_ = p.step(ctx, rollout.Stopped{Host: host, On: r.Stopped})
	switch {
	case r.Refusal != "":
		_ = p.step(ctx, rollout.Refusal{Host: host, Serial: r.Plan, Why: r.Refusal})
	case r.Plan != 0:
		_ = p.step(ctx, rollout.Ack{Host: host, Serial: r.Plan, Hash: r.Hash, Prefixes: r.InForce})
	}
}

// SetPlan begins to bring a plan to the hosts. The plan is the controller's own, so it is not
// verified again.
func (p *PoP) SetPlan(signed []byte) error { return p.Offer(signed, "") }

// Offer is SetPlan for an operator.
func (p *PoP) Offer(signed []byte, by string) error {
	next, _, err := plan.Parse(signed)
	if err != nil {
		return fmt.Errorf("take plan: %w", err)
	}
	content := *next
	content.Serial, content.Created, content.Expires = 1, 1, 2
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = next
	return p.step(context.Background(), rollout.Offer{Plan: rollout.Plan{
		Serial: next.Serial, Hash: next.Hash(), Content: content.Hash(), Prefixes: len(next.Entries), Expires: next.Expires,
	}, By: by, Held: p.held(next)})
}

// held reports whether a plan treats no network that the settled one does not treat in the same way, but
// for a cap that the configuration no longer wants.
func (p *PoP) held(next *plan.Plan) bool {
	text, err := p.plans.Signed(context.Background(), p.roll.State.Base.Serial)
	if err != nil {
		return false
	}
	base, _, err := plan.Parse(text)
	if err != nil {
		return false
	}
	d := plan.Compare(base, next)
	return len(d.Added) == 0 && !slices.ContainsFunc(d.Changed, func(c plan.EntryChange) bool {
		return len(c.Fields) > 1 || c.Fields[0].Field != "cap_bytes_per_s"
	})
}

// Freeze takes back what rolls out, and keeps new content from the hosts until it is undone.
func (p *PoP) Freeze(on bool, by string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.step(context.Background(), rollout.Freeze{On: on, By: by})
}

// Abort takes the present roll-out back. The error says that there is none.
func (p *PoP) Abort(by string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.step(context.Background(), rollout.Abort{By: by})
}

// Kill sets or clears the kill switch of every host, also of those that come back later.
func (p *PoP) Kill(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.streams {
		s.order.Stopped = on // before anything that may wait
		s.signal()
	}
	_ = p.step(context.Background(), rollout.Kill{On: on})
}

// evictWait bounds how long the hosts' answers are waited for: an agent takes up to 10 s.
const evictWait = 12 * time.Second

// Evict has every connected host move its treated connections back, and returns how many those did
// that answered within evictWait.
func (p *PoP) Evict(ctx context.Context) (moved uint64, err error) {
	p.mu.Lock()
	answers := make(chan uint64, len(p.streams))
	hosts := len(p.streams)
	for _, s := range p.streams {
		s.order.Stopped, s.order.Evict, s.evicted = true, true, answers
		s.signal()
	}
	p.mu.Unlock()
	late := time.After(evictWait)
	for range hosts {
		select {
		case n := <-answers:
			moved += n
		case <-ctx.Done():
			return moved, ctx.Err()
		case <-late:
			return moved, fmt.Errorf("evict: not all of %d hosts answered within %s", hosts, evictWait)
		}
	}
	return moved, nil
}

// SettingRollout is the key by which Remember keeps a roll-out.
const SettingRollout = "rollout"

// step takes an event and carries out what follows; the caller holds mu. The error is the answer to
// whoever caused the event.
func (p *PoP) step(ctx context.Context, e rollout.Event) (err error) {
	was := p.roll.State.Stage
	orders := p.roll.Step(p.now().UnixNano(), e)
	// Hosts say again what they have when they connect: only what the stages know must be kept.
	set := flags{p.roll.State.Killed, p.roll.State.Frozen}
	if _, moved := e.(rollout.Offer); moved || was != p.roll.State.Stage || p.kept != set {
		p.kept = set
		b, merr := json.Marshal(p.roll.State)
		if err := errors.Join(merr, p.plans.Remember(ctx, SettingRollout, b)); err != nil {
			p.log.Error("the roll-out is not in the store: a restart begins it again", "err", err)
		}
	}
	for _, o := range orders {
		err = errors.Join(err, p.obey(ctx, o))
	}
	return err
}

func (p *PoP) obey(ctx context.Context, o rollout.Order) error {
	s := p.streams[o.Host]
	switch o.Do {
	case rollout.OrderTell:
		_ = p.round.Tell(ctx, o.Kind, o.Text) // the log has it at least
	case rollout.OrderRefuse:
		return errors.New(o.Text)
	case rollout.OrderWrite:
		p.later(func() { p.rewrite(context.WithoutCancel(ctx), o) })
	case rollout.OrderDrop:
		if s != nil {
			close(s.gone)
			delete(p.streams, o.Host)
		}
	case rollout.OrderStop:
		if s != nil {
			s.order.Stopped = o.On
			s.signal()
		}
	case rollout.OrderSend:
		text, err := p.plans.Signed(ctx, o.Serial)
		if err != nil {
			p.log.Error(fmt.Sprintf("plan %d cannot be sent to %s", o.Serial, o.Host), "err", err)
		} else if s != nil && s.takes.PlanBytes > 0 && len(text) > s.takes.PlanBytes {
			s.order.Plan = nil // one before it that still waits is no longer wanted
			p.later(func() { p.tooLong(context.WithoutCancel(ctx), o, len(text), s.takes.PlanBytes) })
		} else if s != nil {
			s.order.Plan = text
			s.signal()
		}
	}
	return nil
}

// tooLong is a host's refusal of a plan that its stream would end with; a stop that comes with it must not be lost.
func (p *PoP) tooLong(ctx context.Context, o rollout.Order, have, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.step(ctx, rollout.Refusal{Host: o.Host, Serial: o.Serial, Why: fmt.Sprintf("plan %d has %d bytes; this host's plan.max allows at most %d", o.Serial, have, most)})
}

// later runs fn on the PoP's own goroutine: what calls the controller must not hold mu.
func (p *PoP) later(fn func()) {
	p.todo = append(p.todo, fn)
	p.Came()
}

func (p *PoP) rewrite(ctx context.Context, o rollout.Order) {
	if err := p.plans.Rewrite(ctx, o.Serial); err != nil {
		p.log.Error(fmt.Sprintf("the content of plan %d is not written anew: hosts stay as they are", o.Serial), "err", err)
	}
}

// Hosts returns the state of the roll-out, whose maps are the caller's.
func (p *PoP) Hosts() rollout.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := json.Marshal(p.roll.State)
	var s rollout.State
	if err = errors.Join(err, json.Unmarshal(b, &s)); err != nil {
		p.log.Error("copy roll-out", "err", err)
	}
	return s
}

// Lacking lists the connected hosts that take no plan of a key, by its id.
func (p *PoP) Lacking(key string) (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, s := range p.streams {
		if !slices.Contains(s.takes.Keys, key) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// missing lists the hosts that are there and have not sent all of a window.
func (p *PoP) missing(ends []End) (names []string) {
	sent := map[string]bool{}
	for _, e := range ends {
		sent[e.Host] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	there := slices.Collect(maps.Keys(p.streams))
	if p.now().Sub(p.started) < returns {
		there = append(there, p.were...)
	}
	for _, name := range there {
		if !sent[name] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// untreated reports whether hosts are connected and all of them only observe. Where none is, those that come back may
// treat, as they did before.
func (p *PoP) untreated() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	observers := 0
	for name := range p.streams {
		if h := p.roll.State.Hosts[name]; h == nil || h.Tier != config.TierObserve {
			return false
		}
		observers++
	}
	return observers > 0
}

// bbrVersion returns the version of BBR that more than half of the connected hosts have; 0 if no version has that many. One host
// that says another, be it a canary of a new kernel or a liar, changes nothing for the rest.
func (p *PoP) bbrVersion() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	have := map[int]int{}
	for name := range p.streams {
		if h := p.roll.State.Hosts[name]; h != nil {
			have[h.BBR]++
		}
	}
	for version, n := range have {
		if 2*n > len(p.streams) {
			return version
		}
	}
	return 0
}

// BootText writes a boot id as a roll-out has it.
func BootText(id record.BootID) string { return hex.EncodeToString(id[:]) }
