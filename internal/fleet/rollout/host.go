package rollout

import (
	"fmt"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Texts of agents end in the store and on terminals.
const (
	maxText = foreign.MaxText
	maxWord = 100 // bytes: versions, boot ids, hashes
	maxName = 253 // bytes: a DNS name
)

func (c Connect) apply(r *Rollout) {
	s := &r.State
	h := r.admit(c.Host)
	if h == nil {
		return
	}
	boot := foreign.Cut(c.Boot, maxWord)
	if h.Boot != "" && h.Boot != boot {
		c.Hash = "" // its kernel is empty, whatever its agent remembers
	}
	*h = Host{
		Connected: true, SeenNs: r.nowNs, Boot: boot, Version: foreign.Cut(c.Version, maxWord), Tier: foreign.Cut(c.Tier, maxWord), BBR: c.BBR, Serial: c.Serial, Hash: foreign.Cut(c.Hash, maxWord),
		Reached: h.Reached || s.Stage == StageAll || s.Next.Serial != 0 && c.Serial == s.Next.Serial,
		Due:     h.Due, Astray: h.Astray, Told: h.Told,
	}
	if p := r.wants(h); p.Serial != 0 {
		r.tooNew(c.Host, p)
	}
	if s.Stage == StageCanary && len(r.names(func(h *Host) bool { return h.Due })) == 0 {
		h.Reached, h.Due, s.SinceNs = true, true, r.nowNs
		r.tell(KindStage, "plan %d: canary %s", s.Next.Serial, c.Host)
	}
}

// admit returns the host of a name, a new one where there is room.
func (r *Rollout) admit(name string) *Host {
	s := &r.State
	if h := s.Hosts[name]; h != nil {
		return h
	}
	if name == "" || len(name) > maxName || foreign.Cut(name, maxName) != name {
		r.drop(name, fmt.Sprintf("host %q: no name of a host", foreign.Cut(name, maxWord)))
		return nil
	}
	if len(s.Hosts) >= r.rules.MaxHosts {
		old, ok := s.forgettable()
		if !ok {
			r.drop(name, fmt.Sprintf("host %s: the PoP has %d hosts already", name, len(s.Hosts)))
			return nil
		}
		delete(s.Hosts, old)
	}
	s.Hosts[name] = &Host{}
	return s.Hosts[name]
}

func (r *Rollout) drop(name, why string) {
	r.order(Order{Do: OrderDrop, Host: name, Text: why})
	r.tell(KindHost, "%s", why)
}

// forgettable is the host to forget when the map is full: gone the longest, and surely without Next.
func (s *State) forgettable() (name string, ok bool) {
	for _, n := range slices.Sorted(maps.Keys(s.Hosts)) {
		h := s.Hosts[n]
		if !h.Connected && !h.Reached && (!ok || h.SeenNs < s.Hosts[name].SeenNs) {
			name, ok = n, true
		}
	}
	return name, ok
}

func (d Disconnect) apply(r *Rollout) {
	if h := r.State.Hosts[d.Host]; h != nil {
		h.leave(r.nowNs)
	}
}

func (h *Host) leave(nowNs int64) { h.Connected, h.Acked, h.SeenNs = false, false, nowNs }

func (e Stopped) apply(r *Rollout) {
	if h := r.State.Hosts[e.Host]; h != nil && h.Connected {
		h.StopKnown, h.Stopped = true, e.On
	}
}

// apply compares what a kernel holds with what was sent. An answer to an earlier order is only noted.
func (a Ack) apply(r *Rollout) {
	s, h := &r.State, r.State.Hosts[a.Host]
	if h == nil || !h.Connected || a.Serial < h.Serial {
		return
	}
	h.Serial, h.Hash, h.Prefixes = a.Serial, foreign.Cut(a.Hash, maxWord), a.Prefixes
	p := s.Base
	if a.Serial == s.Next.Serial {
		p, h.Reached = s.Next, true
	}
	what := ""
	switch {
	case a.Serial > s.top():
		what = fmt.Sprintf("acknowledges plan %d, which was never sent", a.Serial)
	case h.Hash != p.Hash:
		what = fmt.Sprintf("has another plan with serial %d", p.Serial)
	case a.Prefixes != p.Prefixes:
		what = fmt.Sprintf("has %d prefixes of plan %d in its kernel, not %d", a.Prefixes, p.Serial, p.Prefixes)
	}
	h.Acked = what == ""
	switch {
	case h.Acked:
		h.Astray = false
	case a.Serial == r.wants(h).Serial || a.Serial > s.top():
		r.wrong(a.Host, a.Serial, what)
	}
}

func (e Refusal) apply(r *Rollout) {
	h := r.State.Hosts[e.Host]
	if h == nil || !h.Connected || e.Serial != r.wants(h).Serial || e.Serial == 0 {
		return
	}
	r.wrong(e.Host, e.Serial, fmt.Sprintf("refuses plan %d: %s", e.Serial, foreign.Cut(e.Why, maxText)))
}

// wrong takes what rolls out back if a host that has it answers anything but yes. Any other plan
// must be in force everywhere, so there it is the host that is astray.
func (r *Rollout) wrong(name string, serial record.PlanID, what string) {
	h := r.State.Hosts[name]
	h.Refused = serial
	if r.rolling() && h.Reached && (h.Due || !h.Astray) {
		r.fail(name + " " + what)
		return
	}
	r.astray(name, what)
}

// astray sets a host aside: no stage waits for it, until it takes what it should have. The store
// hears of it once for each plan.
func (r *Rollout) astray(name, why string) {
	h := r.State.Hosts[name]
	told := h.Astray && h.Told == r.wants(h).Serial
	h.Astray, h.Due, h.Told = true, false, r.wants(h).Serial
	if !told {
		r.tell(KindHost, "host %s %s", name, why)
	}
}

// tooNew sets a host aside to which p cannot be sent.
func (r *Rollout) tooNew(name string, p Plan) {
	if h := r.State.Hosts[name]; h.Connected && h.Serial > p.Serial {
		r.astray(name, fmt.Sprintf("has plan %d, newer than plan %d: nothing is sent to it before a newer one", h.Serial, p.Serial))
	}
}
