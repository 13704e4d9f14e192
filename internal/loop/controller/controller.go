package controller

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Options are the controller's numbers; loop/config has their defaults and reasons.
type Options struct {
	PoP   string
	Rules policy.Rules // with the blocks of its Trial
	// HoldoutPermille and AAPermille are the shares of all prefixes that are drawn with an
	// experiment, unless Rules name some.
	HoldoutPermille, AAPermille int
	Treatment                   string
	TreatmentKnown              bool // this kernel has it, so its version in Rules is right
	Untreated                   bool // the tier only observes: rounds decide as while treatment is stopped, so that none of it is taken for a trial
	MinBytes                    uint64
	Networks                    policy.Networks // names to pool trials by; nil for none
	// Shared: the store also has plans that other controllers signed, and proved before they came there.
	Shared bool
	Limits plan.Limits // of what an operator pushes
	Shelf  Shelf       // for Rest; nil: the engine is always in memory
}

// planLife is how many windows a plan lives. A dead controller leaves a treatment in
// place for an hour at most. A plan is renewed at half its life, so two missed rounds
// change nothing.
const planLife = 12

// Host puts plans in force.
type Host interface {
	SetPlan(signed []byte) error
	Kill(on bool)
	// Evict moves treated connections back and returns how many.
	Evict(context.Context) (uint64, error)
}

// Controller runs one PoP's rounds. Several goroutines may call its methods.
type Controller struct {
	opt   Options
	store Store
	host  Host
	log   *slog.Logger
	now   func() time.Time

	refusals refusals

	mu       sync.Mutex     // guards all below
	engine   *policy.Engine // awake returns it with its measurements
	turns    int            // questions that let go of mu in between: engine stays awake until they end
	toDecide int            // policy.Engine.WindowsToDecide when it was laid down
	plan     *plan.Plan     // in force: the last that the host accepted
	serial   record.PlanID  // highest ever written: the serial of a refused plan is not used again
	key      ed25519.PrivateKey
	past     []ed25519.PublicKey // before it, that signed what is in the store
	salt     []byte
	frozen   bool
	killed   bool
	limits   plan.Limits // of what an operator pushes
	heard    heard
}

// New makes a controller from what its store remembers. now is only for time stamps;
// windows carry their own time. Attach, which must come before the first Round, takes over
// the plans and their serials.
func New(ctx context.Context, o Options, s Store, log *slog.Logger, now func() time.Time) (*Controller, error) {
	c := &Controller{opt: o, store: s, log: log, now: now, limits: o.Limits}
	if err := c.recall(ctx); err != nil {
		return nil, err
	}
	var err error
	if c.opt, err = o.remembered(ctx, s); err != nil {
		return nil, err
	}
	err = c.noteTreatment(ctx, c.opt, false)
	if err == nil {
		c.engine, err = Replay(ctx, s, c.opt.engine(c.salt), now())
	}
	return c, err
}

// PublicKey verifies this controller's plans.
func (c *Controller) PublicKey() ed25519.PublicKey { return c.key.Public().(ed25519.PublicKey) }

// Round handles one window: engine, store, kernel.
func (c *Controller) Round(ctx context.Context, w agent.ClosedWindow) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := w.Start + c.opt.Rules.WindowSeconds
	if err := c.hear(ctx, w.BBRVersion); err != nil {
		return err
	}
	e, err := c.awake(ctx)
	if err != nil {
		return err
	}
	d := e.Round(policy.Input{
		Start: w.Start, RoundStart: end, Rows: w.Rows, Unknown: w.Unknown, Starved: w.Starved,
		Frozen: c.frozen, Stopped: c.killed || c.opt.Untreated || w.Untreated, TreatmentIsDefault: c.isDefault(w.DefaultCongs),
	})
	commit, err := commitOf(w, d)
	if err != nil {
		return err
	}
	if d.Brake != "" {
		c.brake(commit)
	}
	next := c.nextPlan(d, end)
	var signed []byte
	if next != nil {
		signed = next.Sign(c.key)
		commit.Plan = &journal.PlanFile{Serial: next.Serial, Created: next.Created, Hash: next.Hash(), Text: signed}
	}
	if err := c.keep(ctx, commit); err != nil {
		if d.Brake != "" {
			err = fmt.Errorf("treatment is stopped by the brake (%s), but the next start will not know of it: %w", d.Brake, err)
		}
		return fmt.Errorf("keep round of %s: %w", time.Unix(end, 0).UTC().Format(time.RFC3339), err)
	}
	c.logRound(ctx, d)
	if next == nil {
		return nil
	}
	c.serial = next.Serial
	return c.force(ctx, next, signed, c.holder())
}

// isDefault reports whether every namespace already runs the treatment.
func (c *Controller) isDefault(congs []string) bool {
	return len(congs) > 0 && !slices.ContainsFunc(congs, func(cong string) bool { return cong != c.opt.Treatment })
}

// keep writes a round. After the wall clock was set back, a window that the store has
// already closed comes again: the first measurement stays, and of this round all but
// its window and summary is stored. Otherwise nothing would be decided until the clock passes the last
// window of the store.
func (c *Controller) keep(ctx context.Context, r *journal.Commit) error {
	err := c.commit(ctx, r)
	if !errors.Is(err, journal.ErrExists) {
		return err
	}
	again := journal.Event{At: r.Round.RoundStart, Kind: kindWindowAgain, Text: fmt.Sprintf(
		"window of %s is already in the store: its rows and round are not stored again", time.Unix(r.Start, 0).UTC().Format(time.RFC3339))}
	return c.commit(ctx, &journal.Commit{Events: append([]journal.Event{again}, r.Events...), Plan: r.Plan, Settings: r.Settings})
}

// holder is who offers a plan of this controller's own. While it is frozen it holds the plan itself: what
// differs from the one in force is an operator's configuration.
func (c *Controller) holder() string {
	if c.frozen {
		return "the configuration"
	}
	return ""
}

// force sends a plan to the host. A plan that the host refuses stays in the store beside
// the refusal, and the plan before it stays in force. by is an operator; "" is a round.
func (c *Controller) force(ctx context.Context, p *plan.Plan, signed []byte, by string) error {
	if c.host != nil {
		if err := c.offer(signed, by); err != nil {
			return c.tell(ctx, kindPlanRefused, err.Error(), map[string][]byte{settingRefused: serialText(p.Serial)})
		}
	}
	c.plan = p
	return c.store.SetSetting(ctx, settingInForce, serialText(p.Serial))
}

func (c *Controller) offer(signed []byte, by string) error {
	if f, ok := c.host.(Fleet); ok && by != "" {
		return f.Offer(signed, by)
	}
	return c.host.SetPlan(signed)
}

// brake stops all treatment until an operator resumes. The kernel comes first, as in
// Stop, whatever happens to the round.
func (c *Controller) brake(round *journal.Commit) {
	if c.host != nil {
		c.host.Kill(true)
	}
	c.killed = true
	round.Settings = map[string][]byte{journal.SettingKilled: []byte("1")}
}

// groupSettled is the line that formats 2 and 3 of a plan have. No entry is settled any more; the number was the default, and another one
// would roll each plan out again.
const groupSettled = 24

// draft returns a plan without entries.
func (c *Controller) draft(now int64) *plan.Plan {
	t := c.opt.Rules.Trial
	next := &plan.Plan{
		PoP: c.opt.PoP, Serial: c.serial + 1, Created: now, Expires: now + planLife*c.opt.Rules.WindowSeconds,
		Treatment: c.opt.Treatment, MinBytes: c.opt.MinBytes,
		BlockSeconds: t.BlockSeconds, WashoutSeconds: t.WashoutSeconds,
		Experiment: plan.ExperimentOff, GroupTrial: plan.DefaultGroupTrial, GroupPromoted: t.GroupPromoted,
		Salt: c.salt, CapRule: plan.CapRuleNone,
	}
	if c.opt.Rules.Experiment() {
		next.Experiment, next.GroupTrial, next.GroupSettled = plan.ExperimentOn, t.GroupTrial, max(t.GroupPromoted, groupSettled)
		next.HoldoutPermille, next.AAPermille = c.opt.shares()
	}
	if c.opt.Rules.PoPGroup() > 0 {
		next.DrawBy = plan.DrawByPoP
	}
	if c.opt.Rules.Cap {
		next.CapRule = plan.CapRuleLate
	}
	return next
}

// heldEntries are the entries of an earlier plan under the header of another one: since then the experiment may have come or gone, and what it
// left untreated must not be treated for that.
func heldEntries(entries []plan.Entry, next *plan.Plan) []plan.Entry {
	out := make([]plan.Entry, 0, len(entries))
	for _, e := range entries {
		switch on := next.Experiment == plan.ExperimentOn; {
		case e.State == plan.StateAlways || e.State == plan.StateUncontrolled:
		case !on && (e.State == plan.StateHoldout || e.State == plan.StateAA):
			continue
		case !on:
			e.State = plan.StateSelected
		case e.State == plan.StateSelected:
			e.State = plan.StateTrial
		case e.State == plan.StateSettled: // of an earlier version
			e.State = plan.StatePromoted
		}
		out = append(out, e)
	}
	return out
}

// nextPlan returns the plan that follows from a decision, or nil if the present plan
// says the same and has half its life left.
func (c *Controller) nextPlan(d policy.Decision, now int64) *plan.Plan {
	next := c.draft(now)
	next.Entries = entries(d, c.opt.Treatment, c.plan)
	if c.plan != nil && c.frozen && d.Brake == "" {
		next.Entries = heldEntries(c.plan.Entries, next) // as it is, but renewed so that it does not expire
	}
	// Where nothing is decided, too: the host refuses a plan with one of these as a whole.
	next.Entries = slices.DeleteFunc(slices.Clone(next.Entries), func(e plan.Entry) bool { return c.engine.Barred(e.Prefix) })
	for i := range next.Entries {
		if !c.opt.Rules.Cap {
			next.Entries[i].CapBytesPerS = 0 // held, but nothing would lift it any more
		}
	}
	if c.plan == nil {
		return next
	}
	left, life := c.plan.Expires-now, c.plan.Expires-c.plan.Created
	fromTheFuture := c.plan.Created > now // the clock was ahead; hosts may have let it expire
	if sameContent(c.plan, next) && left*2 > life && !fromTheFuture {
		return nil
	}
	return next
}

// entries are by prefix, as the selection is. They keep the reason for which a prefix came in: a plan that changes every round
// because a number moved cannot be reviewed.
func entries(d policy.Decision, cong string, prev *plan.Plan) []plan.Entry {
	out := make([]plan.Entry, 0, len(d.Selection))
	for _, s := range d.Selection {
		e := plan.Entry{Prefix: s.Prefix, Cong: cong, State: stateOf(s), Since: s.Since, CapBytesPerS: s.Pace.Cap, Reason: plan.CleanReason(s.Reason)}
		if prev != nil {
			if was, ok := prev.Find(s.Prefix); ok && was.Since == s.Since {
				e.Reason = was.Reason
			}
		}
		out = append(out, e)
	}
	return out
}

// stateOf returns the plan file's word for a state of the policy.
func stateOf(s policy.Selected) string {
	switch {
	case s.Role == record.ArmHoldout:
		return plan.StateHoldout
	case s.Role == record.ArmAA:
		return plan.StateAA
	case s.Uncontrolled:
		return plan.StateUncontrolled
	case s.State == policy.StateAlways:
		return plan.StateAlways
	case s.State == policy.StatePromoted:
		return plan.StatePromoted
	case s.State == policy.StateTrial:
		return plan.StateTrial
	}
	return plan.StateSelected
}

// sameContent compares two plans without serial and dates.
func sameContent(a, b *plan.Plan) bool {
	x := *b
	x.Serial, x.Created, x.Expires = a.Serial, a.Created, a.Expires
	return a.Hash() == x.Hash()
}

func commitOf(w agent.ClosedWindow, d policy.Decision) (*journal.Commit, error) {
	selection, err := json.Marshal(d.Memory())
	if err != nil {
		return nil, fmt.Errorf("encode selection: %w", err)
	}
	c := &journal.Commit{
		Closed: true, Start: w.Start, Rows: w.Rows,
		Round: &journal.Round{Summary: d.Summary, SelectionJSON: selection},
	}
	if w.Unknown != "" {
		c.Notes = []record.WindowNote{{Start: w.Start, Reason: w.Unknown}}
	}
	for i := range d.Events {
		evidence, err := json.Marshal(d.Events[i])
		if err != nil {
			return nil, fmt.Errorf("encode event: %w", err)
		}
		e := &d.Events[i]
		c.Events = append(c.Events, journal.Event{At: d.RoundStart, Kind: string(e.Kind), Prefix: e.Prefix, Text: e.Reason, Evidence: evidence})
	}
	return c, nil
}
