package advise

import (
	"fmt"
	"slices"
	"strings"
)

func checkConnections(f *Facts) Finding {
	const id = "connections"
	if !f.Sockets.OK() {
		return unclear(id, "what live connections use", f.Sockets.Why, "allow AF_NETLINK to this program; the kernel needs inet_diag and tcp_diag")
	}
	by := f.Sockets.Value.ByCong
	total, words := 0, []string{}
	for _, cong := range sortedKeys(by) {
		total += by[cong]
		words = append(words, fmt.Sprintf("%d %s", by[cong], cong))
	}
	list := strings.Join(words, ", ")
	switch {
	case total == 0:
		return ok(id, "no connection with another host is open")
	case by["bbr"] == total:
		return ok(id, "%s", list)
	case f.Cong.Current.Value == "bbr":
		return warn(id, "%s", list).
			because("a connection keeps what it was opened with, and a listening socket hands on what it had when it was opened: servers that run since before stay with the old one").
			fix("restart the servers that listen since before the change", "")
	}
	return ok(id, "%s, as the default says", list)
}

func sortedKeys(m map[string]int) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func checkPacing(f *Facts) Finding {
	const id = "pacing"
	if !f.Sockets.OK() {
		return unclear(id, "whether connections are paced", f.Sockets.Why, "allow AF_NETLINK to this program; the kernel needs inet_diag and tcp_diag")
	}
	s := f.Sockets.Value
	switch {
	case f.older(kernelPacing) && s.ByCong["bbr"] > 0 && f.withoutFq() != "":
		return fail(id, "%s of bbr, and %s has no fq", plural(s.ByCong["bbr"], "connection", "connections"), f.withoutFq()).
			because(fmt.Sprintf("before %v only fq holds packets to the rate that BBR sets: they leave in bursts", kernelPacing)).
			fix("see live-qdiscs; better: "+first(f.newerKernel()), "")
	case s.Unpaced > 0:
		return warn(id, "%d of %d connections of bbr tell no pacing rate", s.Unpaced, s.Paced+s.Unpaced).
			because("BBR always sets one; without it packets leave in bursts").fix(f.newerKernel())
	case s.Paced == 0:
		return ok(id, "no connection of bbr is open to look at")
	}
	return ok(id, "all %s of bbr are paced", plural(s.Paced, "connection", "connections"))
}

// withoutFq is a live interface whose queue is not fq, "" where there is none.
func (f *Facts) withoutFq() string {
	for _, l := range f.queued() {
		if slices.ContainsFunc(l.Leaves(), func(q Qdisc) bool { return q.Kind != "fq" }) {
			return l.Name
		}
	}
	return ""
}

// wantSendBytes is the send buffer from which a long path can be filled: 1 MiB in
// flight are 36 Mbit/s over the 231 ms from Paris to Tokyo.
const wantSendBytes = 1 << 20

func checkSendBuffer(f *Facts) Finding {
	const id = "send-buffer"
	v := f.Sysctl[KeySendBytes]
	w := strings.Fields(v.Value)
	if !v.OK() || len(w) != 3 {
		return unclear(id, "the largest send buffer", v.Why, "mount /proc, and /proc/sys with it")
	}
	var top int
	if _, err := fmt.Sscan(w[2], &top); err != nil {
		return unclear(id, "the largest send buffer", KeySendBytes+" is "+quote(v.Value), "")
	}
	fact := fmt.Sprintf("a connection may have up to %.1f MiB in flight: at most %.0f Mbit/s over 200 ms", float64(top)/(1<<20), float64(top)*8/0.2/1e6)
	if top < wantSendBytes {
		return warn(id, "%s", fact).because("BBR cannot send more than the buffer holds in one round trip").
			fix(fmt.Sprintf(`sudo sysctl -w %s="%s %s 4194304"`, KeySendBytes, w[0], w[1]), fmt.Sprintf(`sudo sysctl -w %s="%s"`, KeySendBytes, v.Value))
	}
	return ok(id, "%s", fact)
}

func checkMetrics(f *Facts) Finding {
	const id = "metrics-cache"
	v := f.Sysctl[KeyMetrics]
	switch {
	case !v.OK():
		return unclear(id, KeyMetrics, v.Why, "mount /proc, and /proc/sys with it")
	case v.Value == "1":
		return ok(id, "nothing is remembered of past connections (%s=1)", short(KeyMetrics))
	}
	return ok(id, "round-trip times of past connections are remembered for each address (%s=0): no harm to BBR; compare before and after only with \"ip tcp_metrics flush\" between", short(KeyMetrics))
}
