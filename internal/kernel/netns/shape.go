package netns

import (
	"errors"
	"fmt"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A direction of a path: a token bucket (tbf), which every kernel has, and a delay
// or random loss (netem) where the kernel has that.
//
//	root netem (delay, loss) -> tbf (rate, burst, limit) -> the link
//
// tbf splits super-packets larger than its burst, so a small burst is safe.

// Shape is one direction. The zero value is an unshaped link.
type Shape struct {
	RateBytesPerS uint64  // 0: not limited
	BurstBytes    uint32  // the bucket; 0: 10 ms at the rate, two full packets at least
	LimitBytes    uint32  // the queue; 0: 50 ms at the rate, and the bucket
	DelayUs       uint32  // one way; needs netem
	LossShare     float64 // 0..1, each packet by itself; needs netem
}

const (
	minBurst = 2 * 1514 // two full Ethernet frames: with one, tbf stalls between packets
	netemPkt = 10_000   // netem's own queue, packets: never the bottleneck
)

func (s Shape) netem() bool { return s.DelayUs > 0 || s.LossShare > 0 }

// burst is 10 ms of the rate: the timer of a 100 Hz kernel ticks so often.
func (s Shape) burst() uint32 {
	if s.BurstBytes > 0 {
		return s.BurstBytes
	}
	return max(minBurst, uint32(s.RateBytesPerS/100))
}

func (s Shape) limit() uint32 {
	if s.LimitBytes > 0 {
		return s.LimitBytes
	}
	return uint32(s.RateBytesPerS/20) + s.burst()
}

// ErrNoNetem says that this kernel has no netem.
var ErrNoNetem = errors.New("this kernel has no netem (CONFIG_NET_SCH_NETEM): delay and loss are not to be had")

// Shape shapes what leaves by link.
func (n *NS) Shape(link string, s Shape) error {
	return n.with(func(h *netlink.Handle) error {
		l, err := h.LinkByName(link)
		if err != nil {
			return fmt.Errorf("shape link %s: %w", link, err)
		}
		parent := uint32(netlink.HANDLE_ROOT)
		if s.netem() {
			if err := addNetem(h, l.Attrs().Index, s); err != nil {
				return fmt.Errorf("shape link %s: %w", link, err)
			}
			parent = netlink.MakeHandle(1, 1)
		}
		if s.RateBytesPerS == 0 {
			return nil
		}
		tbf := &netlink.Tbf{
			QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(2, 0), Parent: parent},
			Rate:       s.RateBytesPerS, Limit: s.limit(), Buffer: netlink.Xmittime(s.RateBytesPerS, s.burst()),
		}
		if err := h.QdiscAdd(tbf); err != nil {
			return fmt.Errorf("shape link %s: tbf at %d bytes/s: %w", link, s.RateBytesPerS, err)
		}
		return nil
	})
}

func addNetem(h *netlink.Handle, index int, s Shape) error {
	q := netlink.NewNetem(
		netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		netlink.NetemQdiscAttrs{Latency: s.DelayUs, Loss: float32(s.LossShare * 100), Limit: netemPkt})
	err := h.QdiscAdd(q)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) {
		return ErrNoNetem
	}
	return err
}

// HasNetem tries netem on the loopback of a scratch namespace.
var HasNetem = sync.OnceValues(func() (bool, error) {
	ns, err := Anonymous()
	if err != nil {
		return false, err
	}
	defer ns.Close()
	err = ns.Shape("lo", Shape{DelayUs: 1000})
	if errors.Is(err, ErrNoNetem) {
		return false, nil
	}
	return err == nil, err
})
