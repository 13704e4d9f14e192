package pop

import (
	"errors"
	"math/bits"
	"strings"

	"github.com/congctl/congctl/internal/lab/scenario"
)

// Buffer is the queue of a bottleneck in the unit of the day's file: packets, a time at the
// rate, or millionths of what is under way on an idle path (rate x round trip).
type Buffer struct{ Packets, Us, BDPPPM uint64 }

const frame = 1514 // of Ethernet, full size, as tc counts it

// At returns the queue as packets or a time, on a path with a round trip: k times rate x round
// trip is k round trips at the rate.
func (b Buffer) At(rttUs uint64) Buffer {
	if b.BDPPPM == 0 {
		return b
	}
	return Buffer{Us: max(rttUs*b.BDPPPM/1e6, 1)}
}

// Bytes returns the queue at a rate, at least one full packet.
func (b Buffer) Bytes(bitPerS uint64) uint64 {
	if b.Packets > 0 {
		return b.Packets * frame
	}
	hi, lo := bits.Mul64(bitPerS, b.Us)
	n, _ := bits.Div64(hi, lo, 8e6) // rates are below 2^37, times below 2^37: hi is far below 8e6
	return max(n, frame)
}

// below reports whether both are in one unit, and b the smaller.
func (b Buffer) below(o Buffer) bool {
	return b.Packets < o.Packets && b.Packets > 0 || b.Us < o.Us && b.Us > 0 || b.BDPPPM < o.BDPPPM && b.BDPPPM > 0
}

// maxBDPs: more round trips of queue than any line has.
const maxBDPs = 100

func readBuffer(s string) (b Buffer, err error) {
	if n, ok := strings.CutSuffix(s, "bdp"); ok {
		if b.BDPPPM, err = readMean(n); err == nil && (b.BDPPPM == 0 || b.BDPPPM > maxBDPs*1e6) {
			err = errors.New("no queue; write 0.01bdp to 100bdp")
		}
		return b, err
	}
	if n, ok := strings.CutSuffix(s, "p"); ok {
		count, err := scenario.ReadCount(n)
		if err == nil && (count == 0 || count > 100_000) {
			err = errors.New("no queue; write 1p to 100000p")
		}
		return Buffer{Packets: uint64(count)}, err
	}
	b.Us, err = readSpan(s)
	if err == nil && b.Us == 0 || b.Us > 1e8 {
		err = errors.New("no queue; write packets, a time at the rate, or a multiple of rate x round trip, as in 20p, 100ms or 0.5bdp")
	}
	return b, err
}

// readRun reads how many packets are lost in a row.
func readRun(s string) (uint64, error) {
	n, ok := strings.CutSuffix(s, "p")
	count, err := scenario.ReadCount(n)
	if !ok || err != nil || count < 1 || count > 1000 {
		return 0, errors.New("not a number of packets; write 1p to 1000p, as in 8p")
	}
	return uint64(count), nil
}
