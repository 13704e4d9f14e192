package advise

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/answer"
)

func checkConnections(f *Facts) Finding {
	if !f.Sockets.OK() {
		return unclear("what live connections use", f.Sockets.Why, "allow AF_NETLINK to this program; the kernel needs inet_diag and tcp_diag")
	}
	by := f.Sockets.Value.ByCong
	total, words := 0, []string{}
	for _, cong := range slices.Sorted(maps.Keys(by)) {
		total += by[cong]
		words = append(words, fmt.Sprintf("%d %s", by[cong], cong))
	}
	list := strings.Join(words, ", ")
	switch {
	case total == 0:
		return ok("no connection with another host is open")
	case f.Sockets.Value.bbr() == total:
		return ok("%s", list)
	case IsBBR(f.Cong.Current.Value):
		return warn("%s", list).
			because("a connection keeps the congestion control it was opened with, and accepted connections inherit that of the listening socket; servers started earlier keep the old one").
			fix("restart the servers that were started before the change", "")
	}
	return ok("%s, as the default is", list)
}

func checkPacing(f *Facts) Finding {
	if !f.Sockets.OK() {
		return unclear("whether connections are paced", f.Sockets.Why, "allow AF_NETLINK to this program; the kernel needs inet_diag and tcp_diag")
	}
	s := f.Sockets.Value
	switch {
	case f.NeedsFq() && s.bbr() > 0 && f.withoutFq() != "":
		return fail("%s of bbr, and %s has no fq", answer.Count(s.bbr(), "connection"), f.withoutFq()).
			because(fmt.Sprintf("before %v only fq paces packets at the rate that BBR sets; without it they leave in bursts", kernelPacing)).
			fix("see live-qdiscs; better: "+first(f.newerKernel()), "")
	case s.Unpaced > 0:
		return warn("%d of %d connections of bbr report no pacing rate", s.Unpaced, s.Paced+s.Unpaced).
			because("BBR always sets one; without it packets leave in bursts").fix(f.newerKernel())
	case s.Paced == 0:
		return ok("no connection of bbr is open")
	}
	return ok("all %s of bbr are paced", answer.Count(s.Paced, "connection"))
}

// withoutFq returns a live interface whose queue is not fq, "" without one.
func (f *Facts) withoutFq() string {
	for _, l := range f.queued() {
		if slices.ContainsFunc(l.Leaves(), func(q Qdisc) bool { return q.Kind != "fq" }) {
			return l.Name
		}
	}
	return ""
}

// wantSendBytes is the send buffer from which a long path can be filled: 1 MiB in flight is
// 36 Mbit/s over the 231 ms from Paris to Tokyo.
const wantSendBytes = 1 << 20

func checkSendBuffer(f *Facts) Finding {
	v := f.Sysctl[KeySendBytes]
	w := strings.Fields(v.Value)
	if !v.OK() || len(w) != 3 {
		return unclear("the largest send buffer", v.Why, "mount /proc, and /proc/sys with it")
	}
	var top int
	if _, err := fmt.Sscan(w[2], &top); err != nil {
		return unclear("the largest send buffer", KeySendBytes+" is "+strconv.Quote(v.Value), "")
	}
	fact := fmt.Sprintf("a connection may have up to %.1f MiB in flight: at most %.0f Mbit/s over 200 ms", float64(top)/(1<<20), float64(top)*8/0.2/1e6)
	if top < wantSendBytes {
		return warn("%s", fact).because("BBR cannot send more than the buffer holds in one round trip").
			fix(fmt.Sprintf(`sudo sysctl -w %s="%s %s 4194304"`, KeySendBytes, w[0], w[1]), fmt.Sprintf(`sudo sysctl -w %s="%s"`, KeySendBytes, v.Value))
	}
	return ok("%s", fact)
}

func checkMetrics(f *Facts) Finding {
	v, threshold := f.Sysctl[KeyMetrics], f.Sysctl[KeyThreshold].Value
	if !v.OK() {
		return unclear(KeyMetrics, v.Why, "mount /proc, and /proc/sys with it")
	}
	if threshold == "" && !f.older(kernelThreshold) {
		threshold = "1" // the default, where it could not be read
	}
	return Metrics(v.Value, threshold)
}
