package popworld

import (
	"math"
	"net/netip"
	"testing"

	"github.com/congctl/congctl/internal/popday/pop"
)

// TestNumberStandsInTheAddress: what the program reads from a frame is the number that
// the prefix was made from, for every network a day may have.
func TestNumberStandsInTheAddress(t *testing.T) {
	for n := range 2 * 500 {
		i, site := n/2, n%2*250
		p := pop.PrefixOf(i, site)
		kind := packetIPv4
		if p.Addr().Is6() {
			kind = packetIPv6
		}
		for h := range pop.Hosts {
			if got := numberIn(kind, hostOf(p, h)); got != i {
				t.Fatalf("%s: number %d, want %d", p, got, i)
			}
		}
	}
}

// numberIn does what kindOfPacket.number does. A header ends with the destination.
func numberIn(k kindOfPacket, to netip.Addr) int {
	b := to.AsSlice()
	at := len(b) - int(k.end-k.at)
	return int(b[at])<<8 + int(b[at+1]) - int(k.first)
}

// TestLossesInBursts: the two shares that the program draws with give the asked share of all
// packets and the asked number in a row; one by one they are the share itself.
func TestLossesInBursts(t *testing.T) {
	of := func(share uint32) float64 { return float64(share) / math.MaxUint32 }
	for _, c := range []struct {
		ppm   uint32
		burst uint64
	}{{20_000, 0}, {20_000, 1}, {1_000, 8}, {40_000, 8}, {5_000, 100}, {500_000, 2}} {
		var l lane
		l.lose(c.ppm, c.burst)
		first, again := of(l.loss), of(l.again)
		// In the long run as many bursts begin as end.
		share, row := first/(first+1-again), 1/(1-again)
		want := float64(max(c.burst, 1))
		if c.burst == 0 {
			want = 1 / (1 - float64(c.ppm)/1e6)
		}
		if math.Abs(share*1e6/float64(c.ppm)-1) > 0.01 || math.Abs(row/want-1) > 0.01 {
			t.Errorf("%d ppm, %d in a row: share %g, %g in a row", c.ppm, c.burst, share, row)
		}
	}
}
