package advise

import (
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// Report is the result of a check.
type Report struct {
	Kernel   string    `json:"kernel"`
	System   string    `json:"system"` // the distribution's name, "" where there is none
	Fails    int       `json:"fails"`
	Warns    int       `json:"warns"`
	Unknown  int       `json:"unknown"`
	Findings []Finding `json:"findings"`
	// Next is the one command that fixes most of what was found; "" without one.
	Next string `json:"next,omitempty"`
}

// NewReport judges a host and counts the findings.
func NewReport(f *Facts) Report {
	list, count := Check(f), map[Verdict]int{}
	for _, found := range list {
		count[found.Verdict]++
	}
	return Report{Kernel: f.Kernel.Release, System: f.System.Distro.Name, Findings: list,
		Fails: count[Fail], Warns: count[Warn], Unknown: count[Unclear], Next: f.next(list)}
}

// enabled are the findings that `host enable bbr` can fix.
var enabled = []string{"bbr-module", "bbr-autoload", "cong-available", "cong-current", "default-qdisc", "live-qdiscs", "boot-cong", "boot-qdisc"}

func (f *Facts) next(list []Finding) string {
	m := f.Module(f.module()).State
	_, _, stopped := f.KeptOut(f.module())
	if m.Value == ModuleAbsent || stopped || !f.hasBBR() && !m.OK() || f.System.ProcSysReadOnly.Value {
		return ""
	}
	if slices.ContainsFunc(list, func(x Finding) bool {
		return (x.Verdict == Fail || x.Verdict == Warn) && slices.Contains(enabled, x.ID)
	}) {
		return enableBBR
	}
	return ""
}

// Evidence is what people show before and after a change: the two settings, the queue
// of each interface, and some connections as their congestion controls see them.
type Evidence struct {
	Settings    []Value     `json:"settings"`
	Qdiscs      []LinkQdisc `json:"qdiscs"`
	Connections []Socket    `json:"connections"`
}

// Value is the present value of a setting; Unknown says why it has none.
type Value struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Unknown string `json:"unknown,omitempty"`
}

// LinkQdisc is one qdisc of a link, with tc's names for its place.
type LinkQdisc struct {
	Link   string `json:"link"`
	Kind   string `json:"kind"`
	Handle string `json:"handle"`
	Parent string `json:"parent"`
}

// NewEvidence selects it from the facts.
func NewEvidence(f *Facts) *Evidence {
	e := &Evidence{Connections: f.Sockets.Value.Samples}
	for _, key := range []string{KeyAvailable, KeyCong, KeyQdisc} {
		v := f.Sysctl[key]
		e.Settings = append(e.Settings, Value{key, v.Value, v.Why})
	}
	for _, l := range f.Links.Value {
		for _, q := range l.Qdiscs {
			e.Qdiscs = append(e.Qdiscs, LinkQdisc{l.Name, q.Kind, handle(q.Handle), parent(q.Parent)})
		}
	}
	return e
}

func handle(h uint32) string { return fmt.Sprintf("%x:", h>>16) }

func parent(p uint32) string {
	switch p {
	case ParentRoot:
		return "root"
	case ParentIngress:
		return "ingress"
	}
	return fmt.Sprintf("%x:%x", p>>16, p&0xffff)
}

// BBRState is BBR's state as ss prints it.
func BBRState(b inetdiag.BBRInfo) string {
	return fmt.Sprintf("bbr:(bw:%s,mrtt:%.3g,pacing_gain:%.6g,cwnd_gain:%.6g)", bitRate(b.BwBytesPerS),
		float64(b.MinRttUs)/1000, float64(b.PacingGain)/256, float64(b.CwndGain)/256)
}

// bitRate of bytes per second, in powers of 1000.
func bitRate(bytesPerS uint64) string {
	v, units := float64(bytesPerS)*8, []string{"bps", "Kbps", "Mbps", "Gbps"}
	i := 0
	for ; v >= 1000 && i < len(units)-1; i++ {
		v /= 1000
	}
	return fmt.Sprintf("%.4g%s", v, units[i])
}
