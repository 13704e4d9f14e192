package controller

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/app/agent"
	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/record"
)

// Options are the controller's numbers; app/config has their defaults and reasons.
type Options struct {
	PoP                    string
	Rules                  policy.Rules
	Window, Block, Washout time.Duration
	ControlEvery           int // blocks; one of them is control
	// HoldoutPermille and AAPermille of all prefixes are drawn, with Rules.Trial on and
	// unless Rules name some.
	HoldoutPermille, AAPermille int
	Treatment                   string
	MinBytes                    uint64
	// TreatmentIsDefault: every polled namespace already runs the treatment.
	TreatmentIsDefault func() bool
}

// planLife is how many windows a plan outlives its making: a dead controller
// leaves a treatment in place for an hour at most, and a plan is renewed at half
// its life, so that two missed rounds change nothing.
const planLife = 12

// Ledger is where decisions are written.
type Ledger interface {
	CommitRound(context.Context, *journal.Commit) error
	AddEvents(context.Context, ...journal.Event) error
	SetSetting(ctx context.Context, key string, value []byte) error
}

// settingInForce is the serial of the last plan that the host took: a later one in
// the store was refused.
const settingInForce = "plan_in_force"

// Host is where plans are put in force.
type Host interface {
	SetPlan(signed []byte) error
	Kill(on bool)
	// Evict moves treated connections back and says how many.
	Evict(context.Context) (uint64, error)
}

// Controller runs one PoP's rounds. Its methods may be called from several goroutines.
type Controller struct {
	opt   Options
	store Ledger
	host  Host
	log   *slog.Logger
	now   func() time.Time

	mu     sync.Mutex // guards all below
	engine *policy.Engine
	plan   *plan.Plan // in force: the last that the host took
	signed []byte
	serial record.PlanID // highest ever written: a refused plan's serial is not used again
	key    ed25519.PrivateKey
	salt   []byte
	frozen bool
	killed bool
}

// New makes a controller from what a store remembers. now is read for time
// stamps only; windows bring their own time.
func New(ctx context.Context, o Options, store Ledger, a Archive, log *slog.Logger, now func() time.Time) (*Controller, error) {
	c := &Controller{opt: o, store: store, log: log, now: now}
	if err := c.recall(ctx, a); err != nil {
		return nil, err
	}
	var err error
	c.engine, err = Replay(ctx, a, o.engine(c.salt), now())
	return c, err
}

// Attach names the host that plans go to and puts the state of before the
// restart in force there: kill switch, then plan. A plan that is no longer allowed
// (the configuration has changed) is told and dropped: nothing is treated until
// the next round has made another.
func (c *Controller) Attach(ctx context.Context, h Host) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.host = h
	h.Kill(c.killed)
	if c.signed == nil || c.plan.Expired(c.now().Unix()) {
		return nil
	}
	err := h.SetPlan(c.signed)
	if err == nil {
		return nil
	}
	c.plan, c.signed = nil, nil
	c.log.Warn("plan of before the restart refused", "err", err)
	return c.store.AddEvents(ctx, journal.Event{At: c.now().Unix(), Kind: "plan-refused", Text: err.Error()})
}

// PublicKey verifies this controller's plans.
func (c *Controller) PublicKey() ed25519.PublicKey { return c.key.Public().(ed25519.PublicKey) }

// recall reads settings and the last plan, and draws what is not there yet.
func (c *Controller) recall(ctx context.Context, a Archive) error {
	seed, err := c.draw(ctx, a, journal.SettingSigningKey, ed25519.SeedSize)
	if err != nil {
		return err
	}
	c.key = ed25519.NewKeyFromSeed(seed)
	if c.salt, err = c.draw(ctx, a, journal.SettingSalt, 16); err != nil {
		return err
	}
	if c.killed, err = flag(ctx, a, journal.SettingKilled); err != nil {
		return err
	}
	if c.frozen, err = flag(ctx, a, journal.SettingFrozen); err != nil {
		return err
	}
	f, ok, err := a.LatestPlan(ctx)
	if err != nil || !ok {
		return err
	}
	c.serial = f.Serial
	if f, ok, err = inForce(ctx, a, f); err != nil || !ok {
		return err
	}
	if c.plan, err = plan.Open(f.Text, c.PublicKey()); err != nil {
		return fmt.Errorf("read plan %d of the store: %w", f.Serial, err)
	}
	c.signed = f.Text
	return nil
}

// inForce gives the plan that the host took last; the latest where the store does
// not say.
func inForce(ctx context.Context, a Archive, latest journal.PlanFile) (journal.PlanFile, bool, error) {
	v, ok, err := a.Setting(ctx, settingInForce)
	if err != nil || !ok {
		return latest, true, err
	}
	serial, err := strconv.ParseUint(string(v), 10, 64)
	if err != nil {
		return latest, false, fmt.Errorf("read setting %s: %w", settingInForce, err)
	}
	return a.Plan(ctx, record.PlanID(serial))
}

// draw reads a secret of n bytes, or makes and keeps one.
func (c *Controller) draw(ctx context.Context, a Archive, key string, n int) ([]byte, error) {
	v, ok, err := a.Setting(ctx, key)
	if err != nil {
		return nil, err
	}
	if ok {
		if len(v) != n {
			return nil, fmt.Errorf("read setting %s: %d bytes, want %d", key, len(v), n)
		}
		return v, nil
	}
	v = make([]byte, n)
	_, _ = rand.Read(v) // never fails (crypto/rand)
	return v, c.store.SetSetting(ctx, key, v)
}

func flag(ctx context.Context, a Archive, key string) (bool, error) {
	v, _, err := a.Setting(ctx, key)
	return string(v) == "1", err
}

// Round judges one window: engine, store, kernel.
func (c *Controller) Round(ctx context.Context, out agent.Out) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := out.Start + int64(c.opt.Window/time.Second)
	d := c.engine.Round(policy.Input{
		Start: out.Start, RoundStart: end, Rows: out.Rows, Unknown: out.Unknown, Starved: out.Starved,
		Frozen: c.frozen, Stopped: c.killed, TreatmentIsDefault: c.opt.TreatmentIsDefault(),
	})
	commit, err := commitOf(out, d)
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
		return fmt.Errorf("keep round %d: %w", end, err)
	}
	c.log.Info("round", "window", out.Start, "prefixes", d.Known, "ranked", d.Ranked, "in_group", d.InGroup,
		"selected", d.Selected, "new", d.New, "released", d.Released, "note", d.Note)
	if next == nil {
		return nil
	}
	c.serial = next.Serial
	return c.force(ctx, next, signed)
}

// keep writes a round. A window that the store has closed already comes again
// after the wall clock was set back: what was measured first stays, and of this
// round only what happened is kept, or nothing would be decided until the clock
// is past the last window of the store.
func (c *Controller) keep(ctx context.Context, r *journal.Commit) error {
	err := c.store.CommitRound(ctx, r)
	if !errors.Is(err, journal.ErrExists) {
		return err
	}
	again := journal.Event{At: r.Round.RoundStart, Kind: "window-again",
		Text: fmt.Sprintf("window %d is in the store already: its rows and round are not kept a second time", r.Start)}
	c.log.Warn("window again", "window", r.Start)
	return c.store.CommitRound(ctx, &journal.Commit{Events: append([]journal.Event{again}, r.Events...), Plan: r.Plan})
}

// force hands a plan to the host. A plan that the host refuses stays in the store
// with the refusal beside it, and the one before stays in force.
func (c *Controller) force(ctx context.Context, p *plan.Plan, signed []byte) error {
	if c.host != nil {
		if err := c.host.SetPlan(signed); err != nil {
			e := journal.Event{At: c.now().Unix(), Kind: "plan-refused", Text: err.Error()}
			return errors.Join(err, c.store.AddEvents(ctx, e))
		}
	}
	c.plan, c.signed = p, signed
	return c.store.SetSetting(ctx, settingInForce, strconv.AppendUint(nil, uint64(p.Serial), 10))
}

// brake stops all treatment: kernel first, as Stop does, whatever becomes of the
// round. It stays until somebody resumes.
func (c *Controller) brake(round *journal.Commit) {
	if c.host != nil {
		c.host.Kill(true)
	}
	c.killed = true
	round.Settings = map[string][]byte{journal.SettingKilled: []byte("1")}
	c.log.Error("brake: no new treatment until `congctl resume`", "why", round.Round.Note)
}

// nextPlan gives the plan that follows from a decision, or nil where the present
// one says the same and has half its life left.
func (c *Controller) nextPlan(d policy.Decision, now int64) *plan.Plan {
	next := &plan.Plan{
		PoP: c.opt.PoP, Serial: c.serial + 1, Created: now, Expires: now + planLife*int64(c.opt.Window/time.Second),
		Treatment: c.opt.Treatment, MinBytes: c.opt.MinBytes,
		BlockSeconds: int64(c.opt.Block / time.Second), WashoutSeconds: int64(c.opt.Washout / time.Second),
		Experiment: plan.ExperimentOff, GroupTrial: plan.DefaultGroupTrial, GroupPromoted: c.opt.ControlEvery,
		Salt: c.salt, CapRule: plan.CapRuleNone, Entries: entries(d, c.opt.Treatment, c.plan),
	}
	if t := c.opt.Rules.Trial; t.On {
		next.Experiment, next.GroupTrial, next.GroupPromoted = plan.ExperimentOn, t.GroupTrial, t.GroupPromoted
		next.HoldoutPermille, next.AAPermille = c.opt.shares()
	}
	if c.plan == nil {
		return next
	}
	if c.frozen && d.Brake == "" {
		next.Entries = c.plan.Entries // held as it is, renewed so that it does not expire
	}
	left, life := c.plan.Expires-now, c.plan.Expires-c.plan.Created
	fromTheFuture := c.plan.Created > now // the clock was ahead, and hosts may have let it expire there
	if sameContent(c.plan, next) && left*2 > life && !fromTheFuture {
		return nil
	}
	return next
}

// entries keeps the reason that a prefix came in with: a plan that changes each
// round because a number moved cannot be reviewed.
func entries(d policy.Decision, cong string, prev *plan.Plan) []plan.Entry {
	out := make([]plan.Entry, 0, len(d.Selection))
	for _, s := range d.Selection {
		e := plan.Entry{Prefix: s.Prefix, Cong: cong, State: stateOf(s), Since: s.Since, Reason: plan.CleanReason(s.Reason)}
		if prev != nil {
			if was, ok := prev.Find(s.Prefix); ok && was.Since == s.Since {
				e.Reason = was.Reason
			}
		}
		out = append(out, e)
	}
	p := plan.Plan{Entries: out}
	p.Sort()
	return p.Entries
}

// stateOf is the word of the plan file for a state of the policy.
func stateOf(s policy.Selected) string {
	switch {
	case s.Role == record.ArmHoldout:
		return plan.StateHoldout
	case s.Role == record.ArmAA:
		return plan.StateAA
	case s.State == policy.StatePromoted:
		return plan.StatePromoted
	case s.State == policy.StateTrial:
		return plan.StateTrial
	}
	return plan.StateSelected
}

// sameContent compares two plans but for serial and dates.
func sameContent(a, b *plan.Plan) bool {
	x := *b
	x.Serial, x.Created, x.Expires = a.Serial, a.Created, a.Expires
	return a.Hash() == x.Hash()
}

func commitOf(out agent.Out, d policy.Decision) (*journal.Commit, error) {
	selection, err := json.Marshal(d.Memory())
	if err != nil {
		return nil, fmt.Errorf("encode selection: %w", err)
	}
	c := &journal.Commit{
		Closed: true, Start: out.Start, Rows: out.Rows,
		Round: &journal.Round{
			RoundStart: d.RoundStart, Window: d.Window, Known: d.Known, Ranked: d.Ranked, InGroup: d.InGroup,
			Selected: d.Selected, New: d.New, Released: d.Released, Refused: d.Refused,
			BoundaryBytesPerS: d.BoundaryBytesPerS, Note: d.Note, SelectionJSON: selection,
		},
	}
	if out.Unknown != "" {
		c.Notes = []record.WindowNote{{Start: out.Start, Reason: out.Unknown}}
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
