package pop

import (
	"errors"
	"math/bits"
	"strings"

	"github.com/congctl/congctl/internal/lab/scenario"
)

// Buffer is the queue of a bottleneck in the unit of the day's file: packets, or a time at
// the rate.
type Buffer struct{ Packets, Us uint64 }

const frame = 1514 // of Ethernet, full size, as tc counts it

// Bytes returns the queue at a rate, at least one full packet.
func (b Buffer) Bytes(bitPerS uint64) uint64 {
	if b.Packets > 0 {
		return b.Packets * frame
	}
	hi, lo := bits.Mul64(bitPerS, b.Us)
	n, _ := bits.Div64(hi, lo, 8e6) // rates are below 2^37, times below 2^37: hi is far below 8e6
	return max(n, frame)
}

func readBuffer(s string) (b Buffer, err error) {
	if n, ok := strings.CutSuffix(s, "p"); ok {
		count, err := scenario.ReadCount(n)
		if err == nil && (count == 0 || count > 100_000) {
			err = errors.New("no queue; write 1p to 100000p")
		}
		return Buffer{Packets: uint64(count)}, err
	}
	b.Us, err = readSpan(s)
	if err == nil && b.Us == 0 || b.Us > 1e8 {
		err = errors.New("no queue; write packets or a time at the rate, as in 20p or 100ms")
	}
	return b, err
}
