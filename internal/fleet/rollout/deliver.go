package rollout

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// wants is the plan that a host should have. There is none while treatment is stopped, and none
// for a host that may hold a failed plan until its successor is written.
func (r *Rollout) wants(h *Host) Plan {
	s := &r.State
	switch {
	case s.Killed || s.Stage == StageBack && h.Reached:
		return Plan{}
	case h.Reached:
		return s.Next
	}
	return s.Base
}

// has reports whether a host has p in force. What it says when it connects is enough for a settled
// plan; what rolls out must be read back.
func (r *Rollout) has(h *Host, p Plan) bool {
	return h.Serial == p.Serial && h.Hash == p.Hash && (h.Acked || p == r.State.Base)
}

// deliver sends each host what it should have and does not have: the kill switch first, to all.
func (r *Rollout) deliver() {
	for _, name := range r.names(func(h *Host) bool { return h.Connected && r.lacksStop(h) }) {
		r.State.Hosts[name].StopNs = r.nowNs
		r.order(Order{Do: OrderStop, Host: name, On: r.State.Killed})
	}
	for _, name := range r.names(func(h *Host) bool { return h.Connected && r.lacks(h) }) {
		r.send(name, r.State.Hosts[name])
	}
}

func (r *Rollout) send(name string, h *Host) {
	p := r.wants(h)
	if h.Sent != p.Serial {
		h.Sent, h.FirstNs = p.Serial, r.nowNs
	} else if !h.Due && r.elapsed(&h.FirstNs) >= r.rules.Limit {
		r.astray(name, r.silence(p))
	}
	h.SentNs = r.nowNs
	r.order(Order{Do: OrderSend, Host: name, Serial: p.Serial})
}

func (r *Rollout) silence(p Plan) string {
	return fmt.Sprintf("has not answered to plan %d for %.0f s", p.Serial, r.rules.Limit.Seconds())
}

func (r *Rollout) lacksStop(h *Host) bool {
	return !(h.StopKnown && h.Stopped == r.State.Killed) && r.again(&h.StopNs, r.rules.Retry)
}

func (r *Rollout) lacks(h *Host) bool {
	p := r.wants(h)
	if p.Serial == 0 || p.expired(r.nowNs) || p.Serial < h.Serial || p.Serial == h.Refused || r.has(h, p) {
		return false
	}
	wait := r.rules.Retry
	if h.Astray && !h.Due {
		wait = r.rules.Limit
	}
	return h.Sent != p.Serial || r.again(&h.SentNs, wait)
}

// again reports whether it is time for an order that has no answer.
func (r *Rollout) again(sentNs *int64, wait time.Duration) bool {
	return *sentNs == 0 || r.elapsed(sentNs) >= wait
}

// reach gives Next to as many hosts as the stage has, and returns the new ones.
func (r *Rollout) reach() (added []string) {
	drawn := r.drawn()
	n := r.size(len(drawn))
	for _, name := range drawn {
		if r.State.Hosts[name].Reached {
			n--
		}
	}
	for _, name := range drawn {
		h := r.State.Hosts[name]
		if h.Reached || len(added) >= n {
			continue
		}
		h.Reached, h.Due = true, !h.Astray || r.State.Stage == StageCanary
		added = append(added, name)
	}
	return added
}

// size is how many of the connected hosts the stage reaches.
func (r *Rollout) size(connected int) int {
	switch r.State.Stage {
	case StageCanary:
		return min(1, connected)
	case StageShare:
		return int(math.Ceil(r.rules.Share * float64(connected)))
	}
	return connected
}

// drawn orders the connected hosts by a keyed hash of PoP, serial and name, so that each plan has
// another canary. Those astray come last.
func (r *Rollout) drawn() []string {
	connected := r.names(func(h *Host) bool { return h.Connected })
	rank := make(map[string]string, len(connected))
	for _, name := range connected {
		mac := hmac.New(sha256.New, r.key)
		mac.Write([]byte(r.pop + "\x00"))
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(r.State.Next.Serial)))
		mac.Write([]byte(name))
		rank[name] = fmt.Sprintf("%t%x", r.State.Hosts[name].Astray, mac.Sum(nil)) // "false" sorts before "true"
	}
	slices.SortFunc(connected, func(a, b string) int { return cmp.Compare(rank[a], rank[b]) })
	return connected
}
