package control

import (
	"context"
	"crypto/rand"
	"fmt"
	"os/user"
	"strconv"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Action is what a person can do to a running congctl; by names the person, for the
// journal. All methods are idempotent.
type Action interface {
	// Stop starts no new treatment anywhere from the next callback on, and survives a
	// restart. evict also moves treated sockets back.
	Stop(ctx context.Context, evict bool, by string) error
	Resume(ctx context.Context, by string) error
	// Freeze keeps the plan as it is: rounds go on but add and release nothing.
	Freeze(ctx context.Context, by string) error
	Unfreeze(ctx context.Context, by string) error
	// RollBack puts the content of an earlier plan in force, under a new serial, and freezes.
	// [NotFound] if there is no such plan, [Conflict] if the host refuses it.
	RollBack(ctx context.Context, serial record.PlanID, by string) error
	// Push does the same with the content of a plan file; [Refused] if it has a fault, [Conflict] if
	// against is no longer the serial of the plan in force.
	Push(ctx context.Context, text string, against record.PlanID, by string) error
	// Abort takes the present roll-out back; [Conflict] if nothing rolls out.
	Abort(ctx context.Context, by string) error
}

type stopRequest struct {
	Evict bool   `json:"evict"`
	ID    string `json:"id,omitempty"` // the same at each controller that is asked
}

type stopID struct{}

// StopID returns what tells a request to stop from others; "" of a client that does not say.
func StopID(ctx context.Context) string {
	id, _ := ctx.Value(stopID{}).(string)
	return id
}

// HandleStop makes h stop, in the name of its requester.
func HandleStop(h *Handler, stop func(ctx context.Context, evict bool, by string) error) {
	Handle(h, stopQuery, func(ctx context.Context, q stopRequest) (None, error) {
		return None{}, stop(context.WithValue(ctx, stopID{}, q.ID), q.Evict, h.requester(ctx))
	})
}

type compareRequest struct {
	Text string `json:"text"`
}

type pushRequest struct {
	Text    string        `json:"text"`
	Against record.PlanID `json:"against"`
}

// The queries behind Action. An answer means that the action is done.
var (
	stopQuery     = Query[stopRequest, None]{Name: "stop", Acts: true}
	resumeQuery   = Query[None, None]{Name: "resume", Acts: true}
	freezeQuery   = Query[None, None]{Name: "freeze", Acts: true}
	unfreezeQuery = Query[None, None]{Name: "unfreeze", Acts: true}
	rollBackQuery = Query[planRequest, None]{Name: "rollback", Acts: true}
	pushQuery     = Query[pushRequest, None]{Name: "push", Acts: true, plan: true}
	abortQuery    = Query[None, None]{Name: "abort", Acts: true}
)

// HandleActions makes h act through a, in the name of its requester.
func HandleActions(h *Handler, a Action) {
	HandleStop(h, a.Stop)
	Handle(h, rollBackQuery, func(ctx context.Context, q planRequest) (None, error) {
		return None{}, a.RollBack(ctx, q.Serial, h.requester(ctx))
	})
	Handle(h, pushQuery, func(ctx context.Context, q pushRequest) (None, error) {
		return None{}, a.Push(ctx, q.Text, q.Against, h.requester(ctx))
	})
	for q, fn := range map[Query[None, None]]func(context.Context, string) error{resumeQuery: a.Resume, freezeQuery: a.Freeze, unfreezeQuery: a.Unfreeze, abortQuery: a.Abort} {
		Handle(h, q, func(ctx context.Context, _ None) (None, error) { return None{}, fn(ctx, h.requester(ctx)) })
	}
}

// requester names the peer as the kernel knows it: a client cannot claim another name.
func requester(ctx context.Context) string {
	p, ok := PeerOf(ctx)
	if !ok {
		return "an unknown user"
	}
	uid := strconv.FormatUint(uint64(p.UID), 10)
	if u, err := user.LookupId(uid); err == nil {
		return fmt.Sprintf("%s (uid %s, pid %d)", u.Username, uid, p.PID)
	}
	return fmt.Sprintf("uid %s (pid %d)", uid, p.PID)
}

// Stop, Resume, Freeze, Unfreeze, RollBack, Push and Abort make Client an [Action]. It ignores
// by: the server asks the kernel who is calling.

func (c *Client) Stop(ctx context.Context, evict bool, _ string) error {
	_, err := Ask(ctx, c, stopQuery, stopRequest{evict, rand.Text()})
	return err
}

func (c *Client) RollBack(ctx context.Context, serial record.PlanID, _ string) error {
	_, err := Ask(ctx, c, rollBackQuery, planRequest{serial})
	return err
}

func (c *Client) Push(ctx context.Context, text string, against record.PlanID, _ string) error {
	_, err := Ask(ctx, c, pushQuery, pushRequest{text, against})
	return err
}

func (c *Client) Abort(ctx context.Context, _ string) error    { return c.act(ctx, abortQuery) }
func (c *Client) Resume(ctx context.Context, _ string) error   { return c.act(ctx, resumeQuery) }
func (c *Client) Freeze(ctx context.Context, _ string) error   { return c.act(ctx, freezeQuery) }
func (c *Client) Unfreeze(ctx context.Context, _ string) error { return c.act(ctx, unfreezeQuery) }

func (c *Client) act(ctx context.Context, q Query[None, None]) error {
	_, err := Ask(ctx, c, q, None{})
	return err
}
