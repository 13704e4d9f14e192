// Package halt is the kill switch of a PoP that controllers share, and which of them has the PoP. A stop only ends
// treatment, so it is safe whichever controller it reaches: that one hands it to the PoP's agents at once, as a text that
// it signs, before any log has it. Agents keep the text and show it to the controller that they follow next; the first
// that has the log stores the stop, once.
//
// It is not the log, and does not choose a controller. Nothing here ever starts treatment.
//
// Its trap: an agent may show a stop that was resumed while the agent was away. So the log has a list of the stops that
// it took, and none of these is taken again.
package halt

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/loop/control"
)

// Controller is of a PoP that is here, beside the actions on it. loop/controller is one.
type Controller interface {
	Evict(ctx context.Context, by string) error
	Audit(context.Context, control.Act)
}

// Settings are what the log keeps.
type Settings interface {
	Setting(ctx context.Context, key string) (value []byte, ok bool, err error)
	SetSetting(ctx context.Context, key string, value []byte) error
}

// Switch is the actions on a shared PoP that is here.
type Switch struct {
	control.Action // without this package
	Controller     Controller
	Log            Settings
	Room           *Room
	Users          *sync.WaitGroup // of the PoP, which stays open for them

	mu sync.Mutex // one stop is stored at a time
}

// storeWait is how long a stop waits for the log before it is answered without: a verb waits for 2.5 s.
const storeWait = time.Second

// Stop has the agents stop before the log is asked.
func (s *Switch) Stop(ctx context.Context, evict bool, by string) error {
	id, err := s.Room.pull(ctx, false, by)
	if err != nil {
		return errors.Join(err, s.Action.Stop(ctx, evict, by))
	}
	stored, late := make(chan error), make(chan struct{})
	s.Users.Go(func() {
		_, err := s.keep(context.WithoutCancel(ctx), id, by)
		select {
		case stored <- err:
		case <-late:
			s.audit(err, by)
		}
	})
	select {
	case err = <-stored:
	case <-time.After(storeWait):
		close(late)
		err = fmt.Errorf("the log of commits has not answered for %s", storeWait)
	}
	switch {
	case err == nil && evict:
		return s.Controller.Evict(ctx, by)
	case err == nil:
		return nil
	case evict:
		s.Room.look(true)
	}
	return s.Room.unstored(err)
}

// Resume ends what is pending, too.
func (s *Switch) Resume(ctx context.Context, by string) error {
	err := s.Action.Resume(ctx, by)
	if err == nil {
		s.Room.done()
	}
	return err
}

// MoveIn stores a stop that came before the PoP did, and lets its agents follow.
func (s *Switch) MoveIn(ctx context.Context) (err error) {
	if text, _, _ := s.Room.pending(); text != nil {
		if err = s.Take(ctx, text); err == nil {
			s.Room.done() // also one that the log has from another controller
		}
	}
	s.Room.look(false)
	return err
}

// Take stores what an agent, or this controller before it had the PoP, knows of a stop; nothing for a PoP without a switch.
func (s *Switch) Take(ctx context.Context, text []byte) error {
	if s == nil || len(text) == 0 {
		return nil
	}
	id, by, err := s.Room.opt.Peers.Read(text)
	if err != nil {
		s.Room.opt.Refused(fmt.Sprintf("pop %s: an agent shows a stop that no controller signed: %s", s.Room.opt.PoP, foreign.Cut(err.Error(), foreign.MaxText)))
		return nil
	}
	fresh, err := s.keep(ctx, id, by)
	if fresh {
		s.audit(err, by)
	}
	return err
}

// audit keeps the word of a stop that is stored later than it was answered, or at another controller.
func (s *Switch) audit(err error, by string) {
	if err == nil {
		s.Controller.Audit(context.Background(), control.Act{By: by, Name: "stop"})
	}
}

const (
	// settingHalts lists the stops that the log has: an agent that was away must not stop again what was resumed.
	settingHalts = "halts"
	maxHalts     = 100
)

// keep stores a stop, unless the log has it already.
func (s *Switch) keep(ctx context.Context, id, by string) (fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, _, err := s.Log.Setting(ctx, settingHalts)
	known := strings.Fields(string(text))
	if err != nil || slices.Contains(known, id) {
		return false, err
	}
	if err = s.Action.Stop(ctx, false, by); err == nil {
		known = append(known, id)
		err = s.Log.SetSetting(ctx, settingHalts, []byte(strings.Join(known[max(0, len(known)-maxHalts):], " ")))
	}
	if err == nil {
		s.Room.done()
	}
	return true, err
}

// Stop stops a PoP that no controller is known to have.
func (r *Room) Stop(ctx context.Context, evict bool, by string) error {
	if _, err := r.pull(ctx, evict, by); err != nil {
		return err
	}
	if s := r.opt.Here(); s != nil { // it has come meanwhile, and may have looked before
		defer s.Users.Done()
		return s.Stop(ctx, evict, by)
	}
	for end := time.Now().Add(storeWait); time.Now().Before(end); time.Sleep(storeWait / 50) {
		if all, missing := r.count(); all > 0 && len(missing) == 0 {
			break
		}
	}
	return r.unstored(r.Elsewhere(ctx))
}

// pull signs a stop and gives it to all agents, now and as they come. It returns the id of the one that is pending: an
// earlier one stays.
func (r *Room) pull(ctx context.Context, evict bool, by string) (id string, err error) {
	id = control.StopID(ctx)
	if len(id) != len(rand.Text()) || strings.Join(strings.Fields(id), "") != id { // of another client than ours
		id = rand.Text()
	}
	text, err := r.opt.Peers.Sign(id, by)
	if err != nil {
		return "", err
	}
	id, fresh := r.put(id, text)
	if fresh {
		go r.forget()
	}
	r.look(evict)
	return id, nil
}

// forget ends a pending stop when another controller is known to have the PoP, to which its agents take the stop: this one
// would not hear that it was resumed.
func (r *Room) forget() {
	for {
		time.Sleep(askAgain)
		if text, _, _ := r.pending(); text == nil {
			return
		}
		if r.Waits() && !r.Vacant(context.Background()) {
			r.done()
		}
	}
}

// unstored is the answer to a stop that agents have and no log has.
func (r *Room) unstored(why error) error {
	all, missing := r.count()
	text := fmt.Sprintf("%d of %d agents that follow this controller are stopped", all-len(missing), all)
	if len(missing) > 0 {
		text += " (not yet " + strings.Join(missing, ", ") + ")"
	}
	text += ", and each that comes to it will be; the stop is not stored yet (" + why.Error() +
		"): the next controller that has the log stores it when one of these agents comes to it, and does not know it before"
	return &control.Error{Code: control.Unstored, Text: text, Hint: "the same again for agents that come later; congctl status when Kafka is back, since resume works only then"}
}
