package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/uplink"
	"github.com/congctl/congctl/internal/linux/clock"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

func newAgent(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "agent",
		Short: "Measure and treat on one host of a fleet, as its controller decides",
		Long: `agent measures and treats as up does, and decides nothing: it sends its records to
fleet.controller and puts the plans from there in force, until SIGTERM or SIGINT.
While the controller is away it keeps its records on disk and treats on by its last
plan until that expires. Its PoP and its name are in its certificate.`,
		Example: "  sudo congctl agent -c /etc/congctl/agent.yml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			g.willTreat()
			cfg, rules, err := g.checked()
			if err == nil {
				err = forAgent(cfg.Fleet)
			}
			if err != nil {
				return err
			}
			return runAgent(cmd.Context(), g, cfg, rules, cmd.ErrOrStderr())
		},
	}
}

func forAgent(f config.Fleet) error {
	switch {
	case len(f.Controller) == 0:
		return usage(errors.New("fleet.controller is empty: write the URL of the controller"))
	case len(f.PlanKeys) == 0:
		return usage(errors.New("fleet.plan_keys is empty, so no plan could be trusted: write the key of the PoP, which the controller logs at its start"))
	}
	return certified(f)
}

func certified(f config.Fleet) error {
	for _, k := range []struct{ key, value string }{{"cert", f.Cert}, {"key", f.Key}, {"ca", f.CA}} {
		if k.value == "" {
			return usage(fmt.Errorf("fleet.%s is empty: the hosts of a fleet trust each other by certificates (docs/fleet.md)", k.key))
		}
	}
	return nil
}

// fleetAgent is one run of an agent.
type fleetAgent struct {
	edgeHost
	self   mtls.Identity
	boot   record.BootID
	creds  *mtls.Credentials
	client *link.Client
	uplink *uplink.Uplink

	started time.Time
	trusted atomic.Pointer[[]config.PlanKey]
	again   atomic.Pointer[context.CancelFunc] // follows anew
	hash    string                             // of the plan in force
	entries int                                // in it
	prev    bool                               // the kill switch as it is on disk
	halt    []byte                             // the stop that no log has, as it is on disk
	sent    uplink.Status                      // as watchUplink saw it last
	contact contact
}

func runAgent(ctx context.Context, g *global, cfg config.Config, rules policy.Rules, stderr io.Writer) error {
	u := &fleetAgent{edgeHost: newEdgeHost(g, cfg, rules, stderr), started: time.Now()}
	u.owner = u
	u.trusted.Store(&cfg.Fleet.PlanKeys)
	return u.start(ctx, u.lock, u.openMetrics, u.openLink, u.openKernel, u.openAgent, u.resume, u.serve, u.serveMetrics, u.follow, u.deliver, u.drop)
}

// sendWait bounds one request to the controller.
const sendWait = 10 * time.Second

func (u *fleetAgent) openLink(context.Context) error {
	creds, err := mtls.Open(filesOf(u.cfg.Fleet), func(err error) { u.log.Error("certificates stay as they were", "err", err) })
	if err != nil {
		return usage(err)
	}
	creds.Revoke(revokedOf(u.cfg.Fleet.Revoked))
	if u.self, err = creds.Self(); err != nil || u.self.Role != mtls.Agent {
		return usage(errors.Join(fmt.Errorf("fleet.cert %s is not an agent's: it needs the name congctl://agent/POP/HOST", u.cfg.Fleet.Cert), err))
	}
	if u.boot, err = clock.BootID(); err != nil {
		return err
	}
	u.cfg.PoP, u.creds = u.self.PoP, creds
	u.client = link.NewClient(u.cfg.Fleet.Controller, creds.Dial, sendWait, plan.BytesFor(u.cfg.Plan.Max))
	return u.openUplink()
}

func (u *fleetAgent) keys() (keys []ed25519.PublicKey) {
	for _, k := range *u.trusted.Load() {
		keys = append(keys, k.Public())
	}
	return keys
}

func (u *fleetAgent) keyIDs() (ids []string) {
	for _, k := range u.keys() {
		ids = append(ids, plan.KeyID(k))
	}
	return ids
}

// Files in state_dir that outlive a restart: the last plan, signed, and the kill switch.
func (u *fleetAgent) planFile() string { return filepath.Join(u.cfg.StateDir, "plan") }
func (u *fleetAgent) stopFile() string { return filepath.Join(u.cfg.StateDir, "stopped") }

// resume puts in force what was before the restart, without the controller.
func (u *fleetAgent) resume(context.Context) error {
	u.prev = u.stopped()
	if u.prev {
		u.halt, _ = os.ReadFile(u.stopFile())
	}
	u.agent.Kill(u.prev)
	text, err := os.ReadFile(u.planFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = u.take(text)
	}
	if err != nil { // the controller sends another
		u.log.Warn("the plan of before the restart is not in force", "err", err)
	}
	return nil
}

func (u *fleetAgent) take(text []byte) error {
	if err := u.agent.SetPlan(text); err != nil {
		return err
	}
	p, _, err := plan.Parse(text)
	if err == nil {
		u.hash, u.entries = p.Hash(), len(p.Entries)
	}
	return err
}

// follow obeys the controller, and tries again for as long as it is away.
func (u *fleetAgent) follow(ctx context.Context) error {
	u.beside(ctx, func(ctx context.Context) error {
		for away := 0; ctx.Err() == nil; away++ {
			s := u.agent.Status()
			if s.Plan == 0 {
				u.hash = ""
			}
			stream, end := context.WithCancel(ctx)
			u.again.Store(&end)
			bbr := bbrVersion()
			err := u.client.Follow(stream, link.Have{Boot: u.boot, Version: version, Plan: record.PlanID(s.Plan), Hash: u.hash, Keys: u.keyIDs(), Stop: u.halt, Tier: u.probe.Tier.String(), BBR: bbr}, func(o link.Order) {
				away = 0
				u.contact.order()
				u.agent.ClearAlarm("controller")
				u.obey(ctx, o)
				if bbr == 0 && bbrVersion() != 0 { // its module came: say so
					end()
				}
			})
			u.contact.connected.Store(false)
			reloaded := stream.Err() != nil
			end()
			if ctx.Err() == nil && !reloaded {
				u.agent.RaiseAlarm("controller", err.Error())
				select {
				case <-ctx.Done():
				case <-time.After(uplink.Backoff(away+1, rand.Float64())):
				}
			}
		}
		return nil
	})
	return nil
}

func (u *fleetAgent) obey(ctx context.Context, o link.Order) {
	u.agent.Kill(o.Stopped)
	if o.Stopped != u.prev || !bytes.Equal(o.Stop, u.halt) {
		u.noteStop(o.Stopped, o.Stop)
	}
	if len(o.ClientKeys) > 0 {
		u.uplink.TellClientsApart(o.ClientKeys)
	}
	r := link.Report{Boot: u.boot, Stopped: o.Stopped}
	if r.Evict = o.Evict; o.Evict {
		var err error
		if r.Evicted, err = u.agent.Evict(ctx); err != nil {
			u.log.Error("treated connections stay as they are", "err", err)
		}
	}
	if o.Plan != nil {
		u.takeOrder(o.Plan, &r)
	}
	if r.Refusal == "" {
		s := u.agent.Status()
		r.Plan, r.Hash, r.InForce = record.PlanID(s.Plan), u.hash, s.InForce
		if u.follower == nil {
			r.InForce = u.entries // this kernel treats nothing, so there is nothing to read back
		}
	}
	if err := u.client.Report(ctx, r); err != nil && ctx.Err() == nil {
		u.log.Warn("the controller does not know what became of its order", "err", err)
	} else if err == nil {
		u.contact.acked.Store(time.Now().Unix())
	}
}

func (u *fleetAgent) takeOrder(text []byte, r *link.Report) {
	p, _, err := plan.Parse(text)
	switch have := record.PlanID(u.agent.Status().Plan); {
	case err != nil:
	case p.Serial < have:
		err = fmt.Errorf("take plan %d: it is older than plan %d, which is in force", p.Serial, have)
	default:
		err = u.take(text)
	}
	if err == nil {
		if err := replace(u.planFile(), text); err != nil {
			u.agent.RaiseAlarm("plan-file", err.Error())
		} else {
			u.agent.ClearAlarm("plan-file")
		}
		return
	}
	u.log.Error("plan refused", "err", err)
	r.Refusal = err.Error()
	if p != nil {
		r.Plan = p.Serial
	}
}

// noteStop keeps the kill switch over a restart. The stop that no log has yet is for the controller that is followed next,
// which may not know of it.
func (u *fleetAgent) noteStop(on bool, halt []byte) {
	u.halt = halt
	var err error
	if on {
		err = replace(u.stopFile(), halt)
	} else if err = os.Remove(u.stopFile()); errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		u.agent.RaiseAlarm("stop-file", "a restart would not know whether treatment is stopped: "+err.Error())
		u.prev = !on // so that the next order writes it
		return
	}
	u.prev = on
	u.agent.ClearAlarm("stop-file")
}

// replace writes a file whole or not at all.
func replace(path string, b []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// keepEvent has no store: the log has alarms, and the status those that stand.
func (u *fleetAgent) keepEvent(_ context.Context, a alarm) { u.log.Warn(a.kind + ": " + a.text) }

// reload takes another fleet.plan_keys, by which a key is replaced or revoked, and fleet.revoked, and nothing else.
func (u *fleetAgent) reload(context.Context) error {
	err := u.takeKeys()
	if err != nil {
		err = fmt.Errorf("reload: the old configuration stays: %w", err)
		u.agent.RaiseAlarm("reload", err.Error())
		return err
	}
	u.agent.ClearAlarm("reload")
	u.log.Info(fmt.Sprintf("reload: plans of %d keys are taken: %s", len(u.keyIDs()), strings.Join(u.keyIDs(), ", ")))
	if end := u.again.Load(); end != nil {
		(*end)() // so that the controller knows
	}
	return nil
}

func (u *fleetAgent) takeKeys() error {
	next, _, err := u.g.checked()
	if err == nil {
		err = forAgent(next.Fleet)
	}
	if err != nil {
		return err
	}
	keys, revoked := next.Fleet.PlanKeys, revokedOf(next.Fleet.Revoked)
	next.PoP, next.Fleet.PlanKeys, next.Fleet.Revoked = u.cfg.PoP, u.cfg.Fleet.PlanKeys, u.cfg.Fleet.Revoked
	changed, err := config.Changes(u.cfg, next)
	if len(changed) > 0 {
		err = fmt.Errorf("an agent takes only fleet.plan_keys and fleet.revoked while it runs: restart it for %s", strings.Join(changed, "; "))
	}
	if err != nil {
		return err
	}
	u.creds.Revoke(revoked)
	u.trusted.Store(&keys)
	return u.agent.SetKeys(u.keys())
}

// serve answers verbs on the unix socket. What is decided is not known here.
func (u *fleetAgent) serve(ctx context.Context) error {
	s, err := control.Listen(control.Options{Path: u.cfg.Socket, Group: u.cfg.SocketGroup, Log: u.log})
	if err != nil {
		return err
	}
	control.HandleStatus(s.Handler, u.status)
	control.HandleAlive(s.Handler, u.alive)
	u.beside(ctx, s.Serve)
	return nil
}

func (u *fleetAgent) status(context.Context) (control.Status, error) {
	a := u.agent.Status()
	return control.Status{
		Running: true, Version: version, PoP: u.cfg.PoP, PID: os.Getpid(), StartedUnixS: u.started.Unix(),
		Tier: u.probe.Tier.String(), TierReason: strings.Join(u.probe.Reasons, "; "),
		Stopped: a.Stopped, StoppedNext: u.stopped(), Plan: record.PlanID(a.Plan), Agent: &a,
	}, nil
}

func (u *fleetAgent) stopped() bool {
	_, err := os.Stat(u.stopFile())
	return err == nil
}
