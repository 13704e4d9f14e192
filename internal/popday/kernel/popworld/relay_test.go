package popworld

import (
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
