package advise

import (
	"fmt"
	"slices"
)

// Report is the answer of a check.
type Report struct {
	Kernel   string    `json:"kernel"`
	System   string    `json:"system"` // the distribution's name, "" where there is none
	Fails    int       `json:"fails"`
	Warns    int       `json:"warns"`
	Unknown  int       `json:"unknown"`
	Findings []Finding `json:"findings"`
	// Next is the one command that fixes most of what was found; "" where there is none.
	Next string `json:"next,omitempty"`
}

// NewReport judges a host and counts.
func NewReport(f *Facts) Report {
	list := Check(f)
	return Report{Kernel: f.Kernel.Release, System: f.System.Distro.Name, Findings: list,
		Fails: Count(list, Fail), Warns: Count(list, Warn), Unknown: Count(list, Unclear), Next: f.next(list)}
}

// enabled are the findings that `host enable bbr` is there for.
var enabled = []string{"bbr-module", "bbr-autoload", "cong-available", "cong-current", "default-qdisc", "live-qdiscs", "boot-cong", "boot-qdisc"}

func (f *Facts) next(list []Finding) string {
	m := f.Module("tcp_bbr").State
	_, stopped := hardBar(f.barred("tcp_bbr"))
	if m.Value == ModuleAbsent || stopped || !f.hasBBR() && !m.OK() || known(f.System.ProcSysReadOnly) == yes {
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
	Settings    []Value      `json:"settings"`
	Qdiscs      []LinkQdisc  `json:"qdiscs"`
	Connections []Connection `json:"connections"`
}

// Value is a setting as it is now; Unknown says why it has no value.
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

// Connection is a live one. State is what its congestion control tells, as ss prints it.
type Connection struct {
	Local       string `json:"local"`
	Remote      string `json:"remote"`
	Cong        string `json:"cong"`
	State       string `json:"state"`
	PacingRate  uint64 `json:"pacing_rate_bytes_per_s"`
	RttUs       uint32 `json:"rtt_us"`
	CwndSegment uint32 `json:"cwnd_segments"`
}

// NewEvidence picks it from the facts.
func NewEvidence(f *Facts) *Evidence {
	e := &Evidence{}
	for _, key := range []string{KeyAvailable, KeyCong, KeyQdisc} {
		v := f.Sysctl[key]
		e.Settings = append(e.Settings, Value{key, v.Value, v.Why})
	}
	for _, l := range f.Links.Value {
		for _, q := range l.Qdiscs {
			e.Qdiscs = append(e.Qdiscs, LinkQdisc{l.Name, q.Kind, handle(q.Handle), parent(q.Parent)})
		}
	}
	for _, s := range f.Sockets.Value.Samples {
		e.Connections = append(e.Connections, Connection{s.Local, s.Remote, s.Cong, s.BBR.text(), s.PacingRate, s.RttUs, s.Cwnd})
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

// text is BBR's state as ss prints it; "" for another congestion control.
func (b *BBR) text() string {
	if b == nil {
		return ""
	}
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
