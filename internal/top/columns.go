package top

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/tcp/record"
)

// column is one of a table. A narrow screen has those of a low rank only.
type column[R any] struct {
	name        string
	width, most int // columns of the screen: at least, and at most where there is room
	rank        int
	words       bool // text: to the left, and sorted upwards at first
	text        func(*R) string
	compare     func(a, b *R) int
}

func number[R any, N cmp.Ordered](name string, width, rank int, of func(*R) N, text func(*R) string) column[R] {
	return column[R]{name, width, width, rank, false, text, func(a, b *R) int { return cmp.Compare(of(a), of(b)) }}
}

func words[R any](name string, width, most, rank int, of func(*R) string) column[R] {
	return column[R]{name, width, most, rank, true, of, func(a, b *R) int { return cmp.Compare(of(a), of(b)) }}
}

// row is a network with what its connections do now.
type row struct {
	Network
	live int // connections of this host
	perS float64
}

var networkColumns = []column[row]{
	{"NETWORK", 23, 23, 0, true, func(r *row) string { return r.Prefix.String() }, func(a, b *row) int { return cmp.Compare(a.Prefix, b.Prefix) }},
	words("STATE", 9, 9, 0, func(r *row) string { return string(r.State) }),
	number("MBIT/S", 7, 0, func(r *row) float64 { return r.PerfBytesPerS }, func(r *row) string { return answer.Mbit(r.PerfBytesPerS) }),
	number("TREATED", 7, 2, func(r *row) float64 { return r.TreatedBytesPerS }, func(r *row) string { return answer.Mbit(r.TreatedBytesPerS) }),
	words("SHOWN", 5, 8, 2, func(r *row) string { return r.Shown() }),
	number("CONNS", 5, 5, func(r *row) int { return r.Conns }, func(r *row) string { return fmt.Sprint(r.Conns) }),
	number("DUTY", 4, 4, func(r *row) float64 { return r.Duty }, func(r *row) string { return fmt.Sprintf("%.2f", r.Duty) }),
	number("FLAP", 4, 7, func(r *row) float64 { return r.Flap }, func(r *row) string { return fmt.Sprintf("%.2f", r.Flap) }),
	number("KNOWN", 5, 6, func(r *row) int { return r.Known }, func(r *row) string { return fmt.Sprint(r.Known) }),
	words("CONG", 5, 8, 1, func(r *row) string { return answer.Or(r.Treatment, "-") }),
	words("ARM", 3, 8, 1, func(r *row) string { return arm(r.Arm) }),
	number("UNTIL", 8, 6, func(r *row) int64 { return r.ArmUntil }, func(r *row) string { return answer.Clock(r.ArmUntil) }),
	number("GAIN", 5, 3, func(r *row) float64 { return r.Rate }, func(r *row) string { return gain(r.Rate) }),
	number("OPEN", 5, 2, func(r *row) int { return r.live }, func(r *row) string { return dash(r.live) }),
	number("NOW", 7, 3, func(r *row) float64 { return r.perS }, func(r *row) string { return answer.Mbit(r.perS) }),
	number("MIN-RTT", 7, 5, func(r *row) float64 { return r.MinRTTUs }, func(r *row) string { return millis(r.MinRTTUs) }),
	number("RETRANS", 7, 5, func(r *row) float64 { return r.RetransShare }, func(r *row) string { return fmt.Sprintf("%.2f%%", 100*r.RetransShare) }),
	words("SIGNATURE", 9, 9, 4, func(r *row) string { return answer.Or(string(r.Signature), "-") }),
	words("GUARD", 7, 20, 7, func(r *row) string { return answer.Or(r.Guard, "-") }),
}

var connColumns = []column[Conn]{
	{"REMOTE", 24, 45, 0, true, func(c *Conn) string { return c.Remote.String() }, func(a, b *Conn) int { return compareAddr(a.Remote, b.Remote) }},
	{"LOCAL", 21, 45, 5, true, func(c *Conn) string { return c.Local.String() }, func(a, b *Conn) int { return compareAddr(a.Local, b.Local) }},
	words("STATE", 11, 11, 3, func(c *Conn) string { return c.State }),
	words("CONG", 6, 8, 0, func(c *Conn) string { return c.Cong }),
	number("NOW", 7, 0, func(c *Conn) float64 { return c.PerS }, func(c *Conn) string { return answer.Mbit(c.PerS) }),
	number("RATE", 8, 1, func(c *Conn) uint64 { return c.Delivery }, func(c *Conn) string { return answer.Mbit(float64(c.Delivery)) }),
	number("RTT", 7, 1, func(c *Conn) uint32 { return c.RttUs }, func(c *Conn) string { return millis(float64(c.RttUs)) }),
	number("MIN-RTT", 7, 3, func(c *Conn) uint32 { return c.MinRttUs }, func(c *Conn) string { return millis(float64(c.MinRttUs)) }),
	number("CWND", 6, 4, func(c *Conn) uint32 { return c.Cwnd }, func(c *Conn) string { return fmt.Sprint(c.Cwnd) }),
	number("ACKED", 7, 4, func(c *Conn) uint64 { return c.Acked }, func(c *Conn) string { return size(c.Acked) }),
	number("RETRANS", 7, 2, func(c *Conn) float64 { return part(c.Retrans, c.Sent) }, func(c *Conn) string { return share(c.Retrans, c.Sent) }),
	number("SEND-Q", 7, 4, func(c *Conn) uint32 { return c.Queue }, func(c *Conn) string { return size(uint64(c.Queue)) }),
	words("NETNS", 5, 15, 6, func(c *Conn) string { return c.Netns }),
}

func compareAddr(a, b netip.AddrPort) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Port(), b.Port()))
}

func arm(a record.Arm) string {
	if a == record.ArmNone {
		return "-"
	}
	return a.String()
}

func gain(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("x%.2f", ratio)
}

func dash(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func millis(us float64) string {
	switch {
	case us == 0:
		return "-"
	case us >= 100_000:
		return fmt.Sprintf("%.0fms", us/1000)
	case us < 10_000:
		return fmt.Sprintf("%.2fms", us/1000)
	}
	return fmt.Sprintf("%.1fms", us/1000)
}

func part(of, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return float64(of) / float64(all)
}

func share(of, all uint64) string {
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100*part(of, all))
}

// size writes bytes in powers of 1000, at most five characters.
func size(bytes uint64) string {
	v, unit := float64(bytes), 0
	for ; v >= 999.5 && unit < 5; unit++ {
		v /= 1000
	}
	switch {
	case unit == 0:
		return fmt.Sprintf("%dB", bytes)
	case v < 9.95:
		return fmt.Sprintf("%.1f%cB", v, " kMGTP"[unit])
	}
	return fmt.Sprintf("%.0f%cB", v, " kMGTP"[unit])
}
