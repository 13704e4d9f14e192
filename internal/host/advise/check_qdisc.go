package advise

import (
	"fmt"
	"slices"
	"strings"
)

// fqThere: this kernel has fq, or nobody can tell that it has not.
func (f *Facts) fqThere() bool {
	s := f.Module("sch_fq").State
	return !s.OK() || s.Value != ModuleAbsent
}

// wantFq is the finding of a place without fq: recommended on a kernel that paces by
// itself, required on one that does not.
func (f *Facts) wantFq(id, fact string) Finding {
	if f.older(kernelPacing) {
		return Finding{ID: id, Verdict: Fail, Fact: fact}.
			because(fmt.Sprintf("before %v only fq paces BBR's packets", kernelPacing))
	}
	return Finding{ID: id, Verdict: Warn, Fact: fact}.
		because("fq is recommended, not required: it paces with one timer for all connections and shares the link fairly; without it TCP paces each connection with a timer of its own")
}

func checkDefaultQdisc(f *Facts) Finding {
	const id = "default-qdisc"
	q := f.Sysctl[KeyQdisc]
	switch {
	case known(f.System.InitNetNS) == no:
		return ok(id, "%s belongs to the first network namespace, and this is another: new interfaces in here get what it says there", KeyQdisc)
	case !q.OK():
		return unclear(id, "the default qdisc", q.Why, "mount /proc, and /proc/sys with it")
	case q.Value == "fq":
		return ok(id, "new interfaces get fq")
	case !f.fqThere():
		return ok(id, "new interfaces get %s; this kernel has no fq, and TCP paces by itself", q.Value)
	}
	return f.wantFq(id, "new interfaces get "+q.Value).
		fix("sudo sysctl -w "+KeyQdisc+"=fq", "sudo sysctl -w "+KeyQdisc+"="+q.Value)
}

// simple are qdiscs that nobody chose: the kernel's defaults, which may be replaced.
var simple = []string{"pfifo_fast", "fq_codel", "pfifo", "bfifo", "fq_pie", "sfq", "codel"}

// queued are the links whose qdiscs matter: up, not loopback, and with a queue.
func (f *Facts) queued() (links []Link) {
	for _, l := range f.Links.Value {
		root, has := l.Root()
		if l.Up && !l.Loopback && has && root.Kind != "noqueue" {
			links = append(links, l)
		}
	}
	return links
}

// tree says a link's qdiscs in words: "eth0 mq of 4 fq_codel".
func (l Link) tree() string {
	root, _ := l.Root()
	leaves := l.Leaves()
	if root.Kind != "mq" && root.Kind != "mqprio" || len(leaves) == 0 {
		return l.Name + " " + root.Kind
	}
	count := map[string]int{}
	var kinds []string
	for _, q := range leaves {
		if count[q.Kind]++; count[q.Kind] == 1 {
			kinds = append(kinds, q.Kind)
		}
	}
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", count[k], k)
	}
	return fmt.Sprintf("%s %s of %s", l.Name, root.Kind, strings.Join(kinds, " and "))
}

func checkLiveQdiscs(f *Facts) Finding {
	const id = "live-qdiscs"
	if !f.Links.OK() {
		return unclear(id, "what queues the interfaces have", f.Links.Why, "allow AF_NETLINK to this program")
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
		own = "; somebody's own, left alone: " + some(custom)
	}
	switch {
	case len(all) == 0:
		return ok(id, "no interface with a queue of its own is up")
	case len(without) == 0:
		return ok(id, "%s%s", some(all), own)
	case !f.fqThere():
		return ok(id, "%s; this kernel has no fq, and TCP paces by itself%s", some(without), own)
	}
	return f.wantFq(id, some(without)+own).fix(strings.Join(fixes, " && "), strings.Join(undos, " && "))
}

// replacing gives the commands that put fq on a link, and back. The leaves of a default
// mq have no address of their own: mq is made anew, and takes the default qdisc.
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

// place is where a qdisc hangs, as tc wants it.
func (q Qdisc) place() string {
	if q.Parent == ParentRoot {
		return "root"
	}
	return "parent " + parent(q.Parent)
}

// multiqueue: a real interface whose queues deserve a qdisc each. A veth has several
// queues, too, and no lock that hurts.
func (l Link) multiqueue() bool { return l.TxQueues > 1 && l.Hardware && l.Kind != "veth" }

func checkMq(f *Facts) Finding {
	const id = "mq-root"
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
		return warn(id, "one qdisc over all queues: %s", some(single)).
			because("a single root takes one lock for every packet of all processors; mq has a qdisc for each queue").
			fix("sudo tc qdisc replace dev "+one.Name+" root handle 1: mq", "sudo tc qdisc replace dev "+one.Name+" root "+root.Kind)
	case multi > 0:
		return ok(id, "%s with several queues, each with its own qdisc", plural(multi, "interface", "interfaces"))
	}
	return ok(id, "no interface has several queues")
}

func checkNetem(f *Facts) Finding {
	const id = "netem-left"
	for _, l := range f.Links.Value {
		for _, q := range l.Qdiscs {
			if q.Kind == "netem" && (l.Hardware || l.Kind == "") && !l.Loopback {
				return fail(id, "%s has a netem", l.Name).
					because("an emulator of bad networks on a real interface delays or drops what real clients get: a test's left-over").
					fix("sudo tc qdisc del dev "+l.Name+" "+q.place(), "the test that put it there knows its parameters")
			}
		}
	}
	return ok(id, "no emulator of bad networks on a real interface")
}

// shapers hold packets back to a rate of their own.
var shapers = []string{"tbf", "htb", "hfsc", "cbq", "cake"}

func checkShapers(f *Facts) Finding {
	const id = "shaper-order"
	var found []string
	for _, l := range f.queued() {
		root, _ := l.Root()
		if !slices.Contains(shapers, root.Kind) {
			continue
		}
		below := ""
		for _, q := range l.Below(root.Handle) {
			if q.Kind == "fq" {
				return warn(id, "%s has fq below %s", l.Name, root.Kind).
					because("fq releases packets by BBR's clock and "+root.Kind+" holds them again: the shaper's limit and latency no longer apply, fq's queue fills instead").
					fix("put fq_codel below the shaper; TCP paces by itself", "")
			}
			below = " over " + q.Kind
		}
		found = append(found, l.Name+" "+root.Kind+below)
	}
	if len(found) > 0 {
		return ok(id, "shaped on purpose: %s; BBR finds that rate and paces to it", some(found))
	}
	return ok(id, "no shaper on an interface")
}

// plimitShare of an fq's packets dropped for its flow limit is too much: one in ten
// thousand halves what a loss-based connection reaches at 100 ms and 10 Mbit/s, and is
// well above what a burst at the start of connections leaves behind.
const plimitShare = 1e-4

func checkFqDrops(f *Facts) Finding {
	const id = "fq-drops"
	seen := 0
	for _, l := range f.queued() {
		for _, q := range l.Qdiscs {
			if q.Kind != "fq" {
				continue
			}
			seen++
			if share := float64(q.FlowsPlimit) / float64(max(q.Packets, 1)); q.FlowsPlimit > 0 && share > plimitShare {
				return warn(id, "fq of %s dropped %d packets (%s) of connections with more than flow_limit in the queue", l.Name, q.FlowsPlimit, percent(share)).
					because("these are losses that this host makes itself").
					fix("sudo tc qdisc change dev "+l.Name+" "+q.place()+" fq flow_limit 1000", "sudo tc qdisc change dev "+l.Name+" "+q.place()+" fq flow_limit 100")
			}
		}
	}
	return ok(id, "%s, none with drops that matter", plural(seen, "fq", "fqs"))
}

// offloadSpeed is the link speed in Mbit/s from which a host without segmentation
// offload needs a processor for sending alone: about 80,000 packets a second and Gbit/s.
const offloadSpeed = 10000

func checkOffloads(f *Facts) Finding {
	const id = "offloads"
	var on, off, unknown []string
	for _, l := range f.queued() {
		switch o := l.Offloads; {
		case !l.Hardware:
		case !o.OK():
			unknown = append(unknown, l.Name+" ("+o.Why+")")
		case o.Value["tso"] || o.Value["gso"]:
			on = append(on, l.Name)
		case l.SpeedMb >= offloadSpeed:
			return warn(id, "%s (%d Mbit/s) has neither tso nor gso", l.Name, l.SpeedMb).
				because("at this speed every packet built by the processor takes what pacing needs; BBR sizes its bursts for the offload by itself").
				fix("sudo ethtool -K "+l.Name+" tso on gso on", "sudo ethtool -K "+l.Name+" tso off gso off")
		default:
			off = append(off, l.Name)
		}
	}
	switch {
	case len(unknown) > 0:
		return unclear(id, "whether segmentation is offloaded", some(unknown), grantRoot(f))
	case len(off) > 0:
		return ok(id, "segmentation is not offloaded on %s; at its speed that does no harm", some(off))
	case len(on) == 0:
		return ok(id, "no hardware interface is up")
	}
	return ok(id, "segmentation is offloaded on %s; BBR sizes its bursts by itself", some(on))
}
