package controller

import (
	"cmp"
	"context"
	"fmt"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// This file puts content in force that no round decided: an earlier plan's, or a file's. A host
// refuses a serial older than what it has, so the way back is forward: the content gets the next serial
// and the controller's own signature.

// Fleet is a host that is many, and brings a plan to them stage by stage.
type Fleet interface {
	// Offer is SetPlan in the name of an operator: it passes a freeze, and freezes.
	Offer(signed []byte, by string) error
	// Freeze takes back what rolls out; a freeze that is there already changes nothing.
	Freeze(on bool, by string)
	// Abort takes the present roll-out back.
	Abort(by string) error
}

// RollBack puts the content of an earlier plan in force again and freezes it, for an operator.
func (c *Controller) RollBack(ctx context.Context, serial record.PlanID, by string) error {
	if serial == 0 {
		return &control.Error{Code: control.BadRequest, Text: "roll back to plan 0: name a plan by its serial", Hint: "congctl plan history"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, err := c.entriesOf(ctx, serial)
	if err != nil {
		return err
	}
	next := c.draft(c.now().Unix())
	next.Entries = heldEntries(entries, next)
	return c.issue(ctx, next, kindRollback, by)
}

// Push puts the content of a plan file in force and freezes it, for an operator that has seen its
// difference to plan against. It changes nothing unless all of the file can be in force.
func (c *Controller) Push(ctx context.Context, text string, against record.PlanID, by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, err := c.read(text)
	if err != nil {
		return err
	}
	if now := c.inForce(); now != against {
		return &control.Error{Code: control.Conflict, Text: fmt.Sprintf("push: plan %d has come since plan %d, which the file was compared with", now, against), Hint: "the same again, to see the difference to it"}
	}
	return c.issue(ctx, next, kindPush, by)
}

// Compare returns what a push of a file would change, or why it would be refused.
func (c *Controller) Compare(_ context.Context, text string) (plan.Diff, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, err := c.read(text)
	if err != nil {
		return plan.Diff{}, err
	}
	return plan.Compare(c.plan, next), nil
}

func (c *Controller) inForce() record.PlanID {
	if c.plan == nil {
		return 0
	}
	return c.plan.Serial
}

// read makes the next plan of a file: its entries, under the header that a round would write.
func (c *Controller) read(text string) (*plan.Plan, error) {
	refused := func(err error) error {
		return &control.Error{Code: control.Refused, Text: "push: " + err.Error(), Hint: "congctl plan show, and change its lines of networks only"}
	}
	file, _, err := plan.Parse([]byte(text))
	if err != nil {
		return nil, refused(err)
	}
	next := c.draft(c.now().Unix())
	if err := file.CheckHeader(next); err != nil {
		return nil, refused(err)
	}
	next.Entries = file.Entries
	limits := c.limits
	limits.Now = next.Created
	if err := plan.Validate(next, c.plan, limits); err != nil {
		return nil, refused(err)
	}
	return next, nil
}

// SetLimits sets what a pushed plan may hold.
func (c *Controller) SetLimits(l plan.Limits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits = l
}

// Abort takes the present roll-out back, for an operator.
func (c *Controller) Abort(_ context.Context, by string) error {
	f, ok := c.host.(Fleet)
	if !ok {
		return &control.Error{Code: control.Conflict, Text: "abort: one host takes a plan at once, so nothing rolls out", Hint: "congctl plan rollback"}
	}
	if err := f.Abort(by); err != nil {
		return &control.Error{Code: control.Conflict, Text: err.Error(), Hint: "congctl plan rollback"}
	}
	return nil
}

// Rewrite puts the content of an earlier plan in force anew, for serial 0 a plan without entries, for a
// roll-out that was taken back. Unless treatment is stopped it freezes as well, since the next round
// would select again what has just failed.
func (c *Controller) Rewrite(ctx context.Context, serial record.PlanID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.draft(c.now().Unix())
	if serial != 0 {
		entries, err := c.entriesOf(ctx, serial)
		if err != nil {
			return err
		}
		next.Entries = heldEntries(entries, next)
	}
	return c.issue(ctx, next, kindRollback, "")
}

func (c *Controller) entriesOf(ctx context.Context, serial record.PlanID) ([]plan.Entry, error) {
	f, ok, err := c.store.Plan(ctx, serial)
	if err != nil {
		return nil, fmt.Errorf("read plan %d: %w", serial, err)
	} else if !ok {
		return nil, &control.Error{Code: control.NotFound, Text: fmt.Sprintf("plan %d is not in the store", serial), Hint: "congctl plan history"}
	}
	was, err := c.open(f)
	if err != nil {
		return nil, err
	}
	return was.Entries, nil
}

// rollOut is who takes a plan back unasked.
const rollOut = "the roll-out"

// issue signs a plan, keeps and freezes it, and puts it in force; by is the operator, "" the roll-out. An operator's
// that is refused leaves the plan as free as it was.
func (c *Controller) issue(ctx context.Context, next *plan.Plan, kind, by string) error {
	now, freezes, was := c.now(), by != "" || !c.killed, c.frozen
	commit := &journal.Commit{}
	if freezes {
		commit = Frozen.By(cmp.Or(by, rollOut), now)
	}
	commit.Events = append(commit.Events, journal.Event{At: now.Unix(), Kind: kind, Text: fmt.Sprintf("plan %d by %s", next.Serial, cmp.Or(by, rollOut))})
	signed := next.Sign(c.key)
	commit.Plan = &journal.PlanFile{Serial: next.Serial, Created: next.Created, Hash: next.Hash(), Text: signed}
	if err := c.commit(ctx, commit); err != nil {
		return fmt.Errorf("keep plan %d: %w", next.Serial, err)
	}
	c.serial, c.frozen = next.Serial, c.frozen || freezes
	if by == "" {
		c.freeze(c.frozen, rollOut)
	}
	if err := c.force(ctx, next, signed, by); err != nil || by == "" || c.plan == next {
		return err
	}
	refusal := &control.Error{Code: control.Conflict, Text: fmt.Sprintf("plan %d, which has this content, was refused: the plan before it stays", next.Serial), Hint: "congctl events"}
	if was {
		return refusal
	}
	if err := c.commit(ctx, Unfrozen.By(by+": its plan was refused", now)); err != nil {
		return err
	}
	c.freeze(false, by)
	return refusal
}
