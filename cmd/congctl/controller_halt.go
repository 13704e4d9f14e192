//go:build !small

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/commitlog"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/controller"
)

// This file is the kill switch of a shared PoP while its log is away. A stop only ends treatment, so it is safe whoever
// owns the PoP: a controller hands it to its agents at once, as a text that it signs, before any log has it. Agents keep
// the text and show it to the controller that they follow next; the first that has the log stores the stop, once.
// Nothing here ever starts treatment.

const (
	// storeWait is how long a stop waits for the log before it is answered without: a verb waits for 2.5 s.
	storeWait = time.Second
	// ownerWait bounds a question to Kafka, which may be away.
	ownerWait = 700 * time.Millisecond
	// roomWait is how long an agent waits at a controller that cannot know who has the PoP, before it asks the next one:
	// that one may have it, where only this one has lost Kafka.
	roomWait = 30 * time.Second
)

// vacant reports whether no other controller is known to have a PoP.
func (s *sharing) vacant(ctx context.Context, pop string) bool {
	name := s.holder(ctx, pop)
	return name == "" || name == s.self.Name
}

// moveIn stores a stop that came before the PoP did, and lets its agents follow.
func (s *sharing) moveIn(ctx context.Context, p *popOffice) {
	r := s.rooms[p.cfg.PoP]
	if _, text, _ := r.pending(); text != nil {
		if err := p.takeStop(ctx, text); err != nil {
			p.log.Error("a stop is not stored yet", "err", err)
		} else {
			r.done() // also one that the log has from another controller
		}
	}
	r.opened()
}

// waits reports whether a PoP's agents wait here for who has it.
func (s *sharing) waits(pop string) bool {
	p := s.office.present(pop)
	if p != nil {
		p.users.Done()
	}
	return p == nil
}

// await returns a PoP, whose users the caller leaves. While no other controller is known to have it, the agent that asks
// waits here, so that a stop finds it.
func (o *office) await(ctx context.Context, pop string) (*popOffice, error) {
	s, r := o.share, o.room(pop)
	if r == nil {
		return o.of(ctx, pop)
	}
	for end := time.Now().Add(roomWait); ; {
		moved := r.next()
		if p := o.present(pop); p != nil {
			return p, nil
		}
		if !s.vacant(ctx, pop) || time.Now().After(end) || ctx.Err() != nil {
			return nil, s.elsewhere(ctx, pop)
		}
		select {
		case <-ctx.Done():
		case <-moved:
		case <-time.After(askAgain):
		}
	}
}

// stops answers a request to stop a PoP that no controller is known to have, and reports whether this was one.
func (s *sharing) stops(w http.ResponseWriter, r *http.Request, pop string) bool {
	h := control.NewHandler(s.office.log.With("pop", pop), callerOf)
	control.HandleStop(h, func(ctx context.Context, evict bool, by string) error { return s.stop(ctx, pop, evict, by) })
	if !h.Acts(strings.TrimPrefix(r.URL.Path, popPath(pop))) || !s.vacant(r.Context(), pop) {
		return false
	}
	http.StripPrefix(popPath(pop), permitted(pop, h)).ServeHTTP(w, r)
	return true
}

func (s *sharing) stop(ctx context.Context, pop string, evict bool, by string) error {
	if _, err := s.pull(ctx, pop, evict, by); err != nil {
		return err
	}
	if p := s.office.present(pop); p != nil { // it has come meanwhile, and may have looked before
		defer p.users.Done()
		return haltable{p.live, p}.Stop(ctx, evict, by)
	}
	r := s.rooms[pop]
	for end := time.Now().Add(storeWait); time.Now().Before(end); time.Sleep(storeWait / 50) {
		if all, missing := r.count(); all > 0 && len(missing) == 0 {
			break
		}
	}
	return r.unstored(s.elsewhere(ctx, pop))
}

// pull signs a stop and gives it to the agents that follow this controller.
func (s *sharing) pull(ctx context.Context, pop string, evict bool, by string) (commitlog.Halt, error) {
	id := control.StopID(ctx)
	if len(id) != len(rand.Text()) || len(strings.Fields(id)) != 1 { // of another client than ours
		id = rand.Text()
	}
	h := commitlog.Halt{PoP: pop, ID: id, By: by, Controller: s.self.Name, At: time.Now().Unix()}
	text, err := h.Sign(s.creds)
	if err != nil {
		return h, err
	}
	pending := s.rooms[pop].pull(h, text, evict)
	if pending == h {
		go s.forget(pop)
	}
	return pending, nil
}

// forget ends a pending stop when Kafka names another controller, to which its agents take it: this one would not hear
// that it was resumed.
func (s *sharing) forget(pop string) {
	for r := s.rooms[pop]; ; {
		time.Sleep(askAgain)
		if _, text, _ := r.pending(); text == nil {
			return
		}
		if s.waits(pop) && !s.vacant(context.Background(), pop) {
			r.done()
		}
	}
}

// unstored is the answer to a stop that agents have and no log has.
func (r *room) unstored(why error) error {
	all, missing := r.count()
	text := fmt.Sprintf("%d of %d agents that follow this controller are stopped", all-len(missing), all)
	if len(missing) > 0 {
		text += " (not yet " + strings.Join(missing, ", ") + ")"
	}
	text += ", and each that comes to it will be; the stop is not stored yet (" + why.Error() +
		"): the next controller that has the log stores it when one of these agents comes to it, and does not know it before"
	return &control.Error{Code: control.Unstored, Text: text, Hint: "the same again for agents that come later; congctl status when Kafka is back, since resume works only then"}
}

// haltable is the actions on a shared PoP that is here.
type haltable struct {
	*controller.View
	p *popOffice
}

// Stop has the agents stop before the log is asked.
func (h haltable) Stop(ctx context.Context, evict bool, by string) error {
	p := h.p
	r := p.share.rooms[p.cfg.PoP]
	halt, err := p.share.pull(ctx, p.cfg.PoP, false, by)
	if err != nil {
		return errors.Join(err, h.View.Stop(ctx, evict, by))
	}
	stored, late := make(chan error), make(chan struct{})
	p.users.Add(1)
	go func() {
		defer p.users.Done()
		_, err := p.keepStop(context.WithoutCancel(ctx), halt.ID, by)
		select {
		case stored <- err:
		case <-late:
			p.audit(err, by)
		}
	}()
	select {
	case err = <-stored:
	case <-time.After(storeWait):
		close(late)
		err = fmt.Errorf("the log of commits has not answered for %s", storeWait)
	}
	switch {
	case err == nil && evict:
		return p.controller.Evict(ctx, by)
	case err == nil:
		return nil
	case evict:
		r.pull(halt, nil, true)
	}
	return r.unstored(err)
}

// Resume ends what is pending, too.
func (h haltable) Resume(ctx context.Context, by string) error {
	err := h.View.Resume(ctx, by)
	if err == nil {
		h.p.share.rooms[h.p.cfg.PoP].done()
	}
	return err
}

// audit keeps the word of a stop that is stored later than it was answered, or at another controller.
func (p *popOffice) audit(err error, by string) {
	if err == nil {
		p.controller.Audit(context.Background(), control.Act{By: by, Name: "stop"})
	}
}

// takeStop stores what an agent, or this controller before it had the PoP, knows of a stop.
func (p *popOffice) takeStop(ctx context.Context, text []byte) error {
	if p.share == nil || len(text) == 0 {
		return nil
	}
	h, err := commitlog.ReadHalt(text, p.cfg.PoP, p.share.creds)
	if err != nil {
		p.share.office.refused(fmt.Sprintf("pop %s: an agent shows a stop that no controller signed: %s", p.cfg.PoP, err))
		return nil
	}
	fresh, err := p.keepStop(ctx, h.ID, h.String())
	if fresh {
		p.audit(err, h.String())
	}
	return err
}

const (
	// settingHalts lists the stops that the log has: an agent that was away must not stop again what was resumed.
	settingHalts = "halts"
	maxHalts     = 100
)

// keepStop stores a stop, unless the log has it already.
func (p *popOffice) keepStop(ctx context.Context, id, by string) (fresh bool, err error) {
	p.halting.Lock()
	defer p.halting.Unlock()
	text, _, err := p.store.Setting(ctx, settingHalts)
	known := strings.Fields(string(text))
	if err != nil || slices.Contains(known, id) {
		return false, err
	}
	if err = p.controller.Stop(ctx, false, by); err == nil {
		known = append(known, id)
		err = p.kept.SetSetting(ctx, settingHalts, []byte(strings.Join(known[max(0, len(known)-maxHalts):], " ")))
	}
	if err == nil {
		p.share.rooms[p.cfg.PoP].done()
	}
	return true, err
}
