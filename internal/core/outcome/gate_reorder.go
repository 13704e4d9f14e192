package outcome

import (
	"fmt"

	"github.com/congctl/congctl/internal/core/stat"
)

// reordering: as many packets overtook as asked. netem puts such a packet at the head of
// its queue and counts that as a requeue (netem_enqueue in net/sched/sch_netem.c); a
// veth never has one put back. The interval is as for loss.
func reordering(v *view) Gate {
	asked := float64(v.c.Path.ReorderPPM) / 1e6
	if asked == 0 {
		return Gate{OK: true, Got: "none asked for", Want: "none"}
	}
	g := Gate{Got: "no delay line", Want: percent(asked), Why: "packets skip the delay of a netem with reorder and gap 1: is it there, and on the way of data?"}
	h := v.hop(RoleDelay)
	if h == nil {
		return g
	}
	from, to := stat.Share(float64(h.Requeues), float64(h.Packets), v.confidence())
	g.OK = from <= asked && asked <= to
	g.Got = fmt.Sprintf("%s of %d packets, interval %s to %s", percent(float64(h.Requeues)/float64(max(h.Packets, 1))), h.Packets, percent(from), percent(to))
	return g
}
