package agent

import (
	"crypto/ed25519"
	"fmt"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/record"
)

const (
	stopKilled  = abi.StopKilled
	stopStarved = abi.StopStarved
	// renewals is how many times in its life an expiry is renewed: the agent may miss
	// fourteen of fifteen and nothing changes.
	renewals = 15
)

// SetPlan verifies a signed plan and puts it in force. On any error the plan before it
// stays in force.
func (a *Agent) SetPlan(signed []byte) error {
	now, boot := a.deps.Clock()
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := plan.Open(signed, a.opt.PublicKeys...)
	if err != nil {
		return fmt.Errorf("take plan: %w", err)
	}
	limits := a.opt.PlanLimits
	limits.Now = now / 1e9
	if err := plan.Validate(p, a.plan, limits); err != nil {
		return fmt.Errorf("take plan %d: %w", p.Serial, err)
	}
	if err := a.put(p, now, boot); err != nil {
		return err
	}
	a.plan, a.signed = p, signed
	a.ClearAlarm("plan")
	return nil
}

// SetKeys changes whose plans are taken. A plan in force that none of them signed is dropped at once:
// a key is removed because another may have it.
func (a *Agent) SetKeys(keys []ed25519.PublicKey) error {
	now, boot := a.deps.Clock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.opt.PublicKeys = keys
	if a.plan == nil || plan.Verify(a.signed, keys...) == nil {
		return nil
	}
	a.RaiseAlarm("plan", fmt.Sprintf("plan %d is signed with a key that is no longer trusted: nothing is treated until another one comes", a.plan.Serial))
	return a.empty(now, boot)
}

// empty takes the plan out of the kernel; the caller holds mu.
func (a *Agent) empty(now, boot int64) error {
	none := *a.plan
	none.Entries = nil
	a.plan = nil
	return a.put(&none, now, boot)
}

// SetLimits changes what the next plan may hold.
func (a *Agent) SetLimits(l plan.Limits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.opt.PlanLimits = l
}

// put fills the kernel; the caller holds mu.
func (a *Agent) put(p *plan.Plan, now, boot int64) error {
	a.setAtNs = boot
	if a.deps.Treater == nil {
		return nil
	}
	n, err := a.deps.Treater.Set(p.Program(now, boot, int64(a.opt.PlanTTL)))
	if err != nil {
		return fmt.Errorf("put plan %d in force: %w", p.Serial, err)
	}
	a.status.InForce = n
	return nil
}

// renew writes arms and expiry ahead again, and drops an expired plan: a dead controller
// must not leave a treatment in place for ever.
func (a *Agent) renew(now, boot int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.plan == nil || boot-a.setAtNs < int64(a.opt.PlanTTL)/renewals {
		return
	}
	var err error
	if p := a.plan; p.Expired(now / 1e9) {
		a.RaiseAlarm("plan", fmt.Sprintf("plan %d expired and no newer one came: nothing is treated", p.Serial))
		err = a.empty(now, boot)
	} else {
		err = a.put(p, now, boot)
	}
	if err != nil {
		a.RaiseAlarm("set", err.Error())
		return
	}
	a.ClearAlarm("set")
}

// Kill sets or clears the kill switch.
func (a *Agent) Kill(on bool) {
	if a.deps.Treater != nil {
		a.deps.Treater.Stop(stopKilled, on)
	}
	a.mu.Lock()
	a.killed = on
	a.mu.Unlock()
}

// armAt returns the arm of a prefix by the plan in force.
func (a *Agent) armAt(p record.Prefix, unix int64) (record.Arm, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.plan == nil {
		return record.ArmNone, false
	}
	return a.plan.ArmWithin(a.opt.PlanLimits, p, unix)
}
