package advise

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/answer"
)

// fqThere reports whether this kernel has fq, or may have it.
func (f *Facts) fqThere() bool {
	s := f.Module("sch_fq").State
	return !s.OK() || s.Value != ModuleAbsent
}

// wantFq returns the finding for a place without fq: recommended on a kernel that paces by itself,
// required on one that does not.
func (f *Facts) wantFq(fact string) Finding {
	if f.NeedsFq() {
		return Finding{Verdict: Fail, Fact: fact}.
			because(fmt.Sprintf("before %v only fq paces BBR's packets", kernelPacing))
	}
	return Finding{Verdict: Warn, Fact: fact}.
		because("fq is recommended, not required: it paces all connections with one timer and shares the link fairly; without it TCP paces each connection with its own timer")
}

func checkDefaultQdisc(f *Facts) Finding {
	q := f.Sysctl[KeyQdisc]
	switch {
	case No(f.System.InitNetNS):
		return ok("%s belongs to the host's network namespace: new interfaces in this one follow the host's setting", KeyQdisc)
	case !q.OK():
		return unclear("the default qdisc", q.Why, "mount /proc, and /proc/sys with it")
	case q.Value == "fq":
		return ok("new interfaces get fq")
	case !f.fqThere():
		return ok("new interfaces get %s; this kernel has no fq, and TCP paces by itself", q.Value)
	}
	return f.wantFq("new interfaces get "+q.Value).
		fix("sudo sysctl -w "+KeyQdisc+"=fq", "sudo sysctl -w "+KeyQdisc+"="+q.Value)
}

// simple are the kernel's default qdiscs, which nobody chose and which may be replaced.
var simple = []string{"pfifo_fast", "fq_codel", "pfifo", "bfifo", "fq_pie", "sfq", "codel"}

// queued returns the links whose qdiscs matter: up, not loopback, and with a queue.
func (f *Facts) queued() (links []Link) {
	for _, l := range f.Links.Value {
		root, has := l.Root()
		if l.Up && !l.Loopback && has && root.Kind != "noqueue" {
			links = append(links, l)
		}
	}
	return links
}

// tree prints a link's qdiscs: "eth0 mq of 4 fq_codel".
func (l Link) tree() string {
	root, _ := l.Root()
	leaves := l.Leaves()
	if root.Kind != "mq" && root.Kind != "mqprio" || len(leaves) == 0 {
		return l.Name + " " + root.Kind
	}
	var kinds []string
	for _, q := range leaves {
		kinds = append(kinds, q.Kind)
	}
	return fmt.Sprintf("%s %s of %s", l.Name, root.Kind, Counted(kinds))
}

func checkLiveQdiscs(f *Facts) Finding {
	if !f.Links.OK() {
		return unclear("what queues the interfaces have", f.Links.Why, "allow AF_NETLINK to this program")
	}
	var all, without, custom []string
	var fixes, undos []string
	for _, l := range f.queued() {
		all = append(all, l.tree())
		if i := slices.IndexFunc(l.Leaves(), func(q Qdisc) bool { return q.Kind != "fq" }); i < 0 {
			continue
		} else if kind := l.Leaves()[i].Kind; !slices.Contains(simple, kind) {
			custom = append(custom, l.tree())
			continue
		}
		without = append(without, l.tree())
		fix, undo := l.replacing()
		fixes, undos = append(fixes, fix...), append(undos, undo...)
	}
	own := ""
	if len(custom) > 0 {
		own = "; set by others, left alone: " + some(custom)
	}
	switch {
	case len(all) == 0:
		return ok("no interface with its own queue is up")
	case len(without) == 0:
		return ok("%s%s", some(all), own)
	case !f.fqThere():
		return ok("%s; this kernel has no fq, and TCP paces by itself%s", some(without), own)
	}
	return f.wantFq(some(without)+own).fix(strings.Join(fixes, " && "), strings.Join(undos, " && "))
}

// replacing returns the commands that put fq on a link, and back. The leaves of a default mq
// have no address of their own: mq is recreated, and takes the default qdisc.
func (l Link) replacing() (fix, undo []string) {
	root, _ := l.Root()
	leaves := l.Leaves()
	on := func(where, kind string) string {
		return "sudo tc qdisc replace dev " + l.Name + " " + where + " " + kind
	}
	set := "sudo sysctl -w " + KeyQdisc + "="
	switch isMq := root.Kind == "mq" || root.Kind == "mqprio"; {
	case !isMq && l.multiqueue():
		return []string{set + "fq", on("root handle 1:", "mq")}, []string{on("root", root.Kind)}
	case !isMq:
		return []string{on("root", "fq")}, []string{on("root", root.Kind)}
	case root.Handle == 0:
		return []string{set + "fq", on("root handle 1:", "mq")}, []string{set + leaves[0].Kind, on("root handle 1:", "mq")}
	}
	for _, q := range leaves {
		if q.Kind != "fq" {
			fix, undo = append(fix, on(q.place(), "fq")), append(undo, on(q.place(), q.Kind))
		}
	}
	return fix, undo
}

// place returns where a qdisc hangs, in tc's words.
func (q Qdisc) place() string {
	if q.Parent == ParentRoot {
		return "root"
	}
	return "parent " + parent(q.Parent)
}

// multiqueue: a real interface whose queues should each have a qdisc. A veth has several
// queues, too, but no costly lock.
func (l Link) multiqueue() bool { return l.TxQueues > 1 && l.Hardware && l.Kind != "veth" }

func checkMq(f *Facts) Finding {
	var single []string
	var one Link
	multi := 0
	for _, l := range f.queued() {
		root, _ := l.Root()
		if !l.multiqueue() {
			continue
		}
		multi++
		if slices.Contains(simple, root.Kind) || root.Kind == "fq" {
			one = l
			single = append(single, fmt.Sprintf("%s (%d queues) %s", l.Name, l.TxQueues, root.Kind))
		}
	}
	switch {
	case len(single) > 0:
		root, _ := one.Root()
		return warn("one qdisc over all queues: %s", some(single)).
			because("with a single root qdisc all CPUs share one lock; mq has a qdisc for each queue").
			fix("sudo tc qdisc replace dev "+one.Name+" root handle 1: mq", "sudo tc qdisc replace dev "+one.Name+" root "+root.Kind)
	case multi > 0:
		return ok("%s with several queues, each with its own qdisc", answer.Count(multi, "interface"))
	}
	return ok("no interface has several queues")
}

func checkNetem(f *Facts) Finding {
	for _, l := range f.Links.Value {
		for _, q := range l.Qdiscs {
			if q.Kind == "netem" && (l.Hardware || l.Kind == "") && !l.Loopback {
				return fail("%s has a netem", l.Name).
					because("netem emulates bad networks: on a real interface it delays or drops the traffic of real clients, and is probably left over from a test").
					fix("sudo tc qdisc del dev "+l.Name+" "+q.place(), "only the test that added it knows its parameters")
			}
		}
	}
	return ok("no netem on a real interface")
}

// shapers limit packets to a rate of their own.
var shapers = []string{"tbf", "htb", "hfsc", "cbq", "cake"}

func checkShapers(f *Facts) Finding {
	var found []string
	for _, l := range f.queued() {
		root, _ := l.Root()
		if !slices.Contains(shapers, root.Kind) {
			continue
		}
		below := ""
		for _, q := range l.Below(root.Handle) {
			if q.Kind == "fq" {
				return warn("%s has fq below %s", l.Name, root.Kind).
					because("fq paces packets and "+root.Kind+" then delays them again: fq's queue fills, and the shaper's limit and latency no longer apply").
					fix("use fq_codel below the shaper; TCP paces by itself", "")
			}
			below = " over " + q.Kind
		}
		found = append(found, l.Name+" "+root.Kind+below)
	}
	if len(found) > 0 {
		return ok("shaped on purpose: %s; BBR finds that rate and paces at it", some(found))
	}
	return ok("no shaper on an interface")
}

// plimitShare is the share of an fq's packets dropped for its flow limit that is too much:
// one in ten thousand halves what a loss-based connection reaches at 100 ms and 10 Mbit/s,
// and is well above what a burst at the start of connections causes.
const plimitShare = 1e-4

func checkFqDrops(f *Facts) Finding {
	seen := 0
	for _, l := range f.queued() {
		for _, q := range l.Qdiscs {
			if q.Kind != "fq" {
				continue
			}
			seen++
			if share := float64(q.FlowsPlimit) / float64(max(q.Packets, 1)); q.FlowsPlimit > 0 && share > plimitShare {
				return warn("fq of %s dropped %d packets (%s) of connections with more than flow_limit in the queue", l.Name, q.FlowsPlimit, percent(share)).
					because("this host causes these losses itself").
					fix("sudo tc qdisc change dev "+l.Name+" "+q.place()+" fq flow_limit 1000", "sudo tc qdisc change dev "+l.Name+" "+q.place()+" fq flow_limit 100")
			}
		}
	}
	return ok("%s, none with a significant share of drops", answer.Count(seen, "fq"))
}

// offloadSpeed is the link speed in Mbit/s above which a host without segmentation offload needs a
// processor for sending alone: about 80,000 packets per second and Gbit/s.
const offloadSpeed = 10000

func checkOffloads(f *Facts) Finding {
	var on, off, unknown []string
	for _, l := range f.queued() {
		switch o := l.Segments; {
		case !l.Hardware:
		case !o.OK():
			unknown = append(unknown, l.Name+" ("+o.Why+")")
		case o.Value:
			on = append(on, l.Name)
		case l.SpeedMb >= offloadSpeed:
			return warn("%s (%d Mbit/s) has neither tso nor gso", l.Name, l.SpeedMb).
				because("at this speed building every packet in software costs CPU time that pacing needs; BBR adapts its bursts to the offload by itself").
				fix("sudo ethtool -K "+l.Name+" tso on gso on", "sudo ethtool -K "+l.Name+" tso off gso off")
		default:
			off = append(off, l.Name)
		}
	}
	switch {
	case len(unknown) > 0:
		return unclear("whether segmentation is offloaded", some(unknown), grantRoot(f))
	case len(off) > 0:
		return ok("segmentation is not offloaded on %s, which does no harm at its speed", some(off))
	case len(on) == 0:
		return ok("no hardware interface is up")
	}
	return ok("segmentation is offloaded on %s; BBR adapts its bursts by itself", some(on))
}
