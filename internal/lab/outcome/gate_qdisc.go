package outcome

import (
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/lab/scenario"
)

// qdiscs: the configured kinds are those that ran. A token bucket's counters do not show
// which qdisc is below it.
func qdiscs(v *view) Gate {
	var wrong []string
	sender, bottleneck := v.hop(RoleSender), v.hop(RoleBottleneck)
	if asked := v.c.Sender.Qdisc; kind(sender) != asked && !(sender == nil && asked == "noqueue") {
		wrong = append(wrong, fmt.Sprintf("sender %s, not %s", kind(sender), asked))
	}
	if asked := v.c.Path.Bottleneck; (asked == "netem" || asked == "tbf") && kind(bottleneck) != asked {
		wrong = append(wrong, fmt.Sprintf("bottleneck %s, not %s", kind(bottleneck), asked))
	}
	if h := v.hop(RoleLoss); h != nil && h.Node != lossNodes[v.c.Path.Loss.At] {
		wrong = append(wrong, fmt.Sprintf("loss at %s, not %s", h.Node, v.c.Path.Loss.At))
	}
	return Gate{OK: len(wrong) == 0, Got: listed(wrong, "as requested"), Want: fmt.Sprintf("sender %s, bottleneck %s", v.c.Sender.Qdisc, v.c.Path.Bottleneck),
		Why: "default_qdisc affects only links made later, and mq hides the real ones: replace the link's root qdisc"}
}

// lossNodes are where packets are lost. On the other side of the bottleneck the same
// share makes another bound.
var lossNodes = map[string]string{scenario.LossBefore: "bn", scenario.LossAfter: "wan", scenario.LossSender: "srv"}

func kind(h *Hop) string {
	if h == nil {
		return "none"
	}
	return h.Qdisc
}

// shapers delay by a rate, as netem does.
var shapers = []string{"tbf", "htb", "hfsc", "cake"}

// emulatorAtSender: the network is not emulated in the sender's own qdisc. There a loss
// takes a whole super-packet, TCP learns of an overflow, which is then no loss, and TCP
// small queues keep the emulated queue from filling: the sender's stack and the network's
// are one. A shaper that the cell requests is the sender's own.
func emulatorAtSender(v *view) Gate {
	h := v.hop(RoleSender)
	emulates := kind(h) == "netem" || h.plays(RoleLoss) || h.plays(RoleDelay) ||
		slices.Contains(shapers, kind(h)) && kind(h) != v.c.Sender.Qdisc
	return Gate{OK: !emulates, Got: kind(h), Want: "no netem and no rate limit that the cell does not ask for",
		Why: "on the sender's root qdisc, losses hit super-packets and full queues push back: put netem a hop behind the sender"}
}

// burst: a token bucket holds at least one packet. A bucket that is smaller lets
// nothing through, or with super-packets only some.
func burst(v *view) Gate {
	g := Gate{OK: true, Got: "no token bucket", Want: "at least " + digits(v.frame()) + " bytes",
		Why: "the kernel drops each packet above the burst: set it to twice MTU + 14, or rate x 1 ms if that is more"}
	look := func(place string, bytes uint32) {
		if g.OK {
			g.OK, g.Got = float64(bytes) >= v.frame(), fmt.Sprintf("%s: %d bytes", place, bytes)
		}
	}
	if v.c.Sender.Qdisc == "tbf" {
		look("sender", v.c.Sender.TbfBurst)
	}
	if v.c.Path.Bottleneck != "netem" { // all others are a bucket, or queue below one
		look("bottleneck", v.c.Path.BurstBytes)
	}
	return g
}

// senderDrops: the sender's own qdisc loses nothing except what a netem there is
// configured to. TCP learns of such a drop at once and sends again: no counter shows a
// loss.
func senderDrops(v *view) Gate {
	g := Gate{OK: true, Got: "0 packets", Want: "0 packets dropped by the sender's qdisc",
		Why: "the queue is too short (fq: flow_limit 100 packets, tbf: limit): TCP learns of the drop, slows down and counts no loss; lengthen it"}
	if h := v.hop(RoleSender); h != nil {
		n := h.Drops
		if h.plays(RoleLoss) {
			n = h.LimitDrops
		}
		g.OK, g.Got = n == 0, fmt.Sprintf("%d packets", n)
	}
	return g
}

// limitDrops: a full queue drops only at the bottleneck, whose length is part of the cell.
func limitDrops(v *view) Gate {
	var found []string
	for i := range v.r.Hops {
		h := &v.r.Hops[i]
		if h.plays(RoleBottleneck) || h.plays(RoleSender) {
			continue
		}
		n := h.Drops
		if h.plays(RoleLoss) || h.plays(RoleBack) && v.c.Path.Loss.BackPPM > 0 {
			n = h.LimitDrops
		}
		if n > 0 {
			found = append(found, fmt.Sprintf("%s %s %s: %d", h.Node, h.Link, h.Qdisc, n))
		}
	}
	return Gate{OK: len(found) == 0, Got: listed(found, "0 packets"), Want: "0 packets dropped by full queues other than the bottleneck's",
		Why: "netem's limit (1000 by default) counts what is in flight as well: give a delay line 1,000,000"}
}
