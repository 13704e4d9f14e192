package popworld

import (
	"math"
	"os"
	"testing"

	"github.com/cilium/ebpf"
)

// TestRelayLosesInBursts: the eBPF program loses the asked share of packets, so many in a row. Of
// 20,000 packets in bursts of 8 some 250 are lost in a row each time: the mean of their lengths has a
// standard error of 0.5, the share one of 0.9 %. The bounds are five of those.
func TestRelayLosesInBursts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: loads an eBPF program; minimum kernel 5.15")
	}
	r, err := newRelay(1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Apache-2.0", Instructions: relayProgram(r.table.FD())})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	packet := make([]byte, ethernet+20)
	packet[12], packet[ethernet], packet[ethernet+16], packet[ethernet+17] = 0x08, 0x45, 198, 18 // IPv4 to 198.18.0.0
	const packets = 20_000
	for _, c := range []struct {
		burst          uint64
		row, within    float64
		share, ofShare float64
	}{{8, 8, 2.5, 0.1, 0.045}, {0, 1 / 0.9, 0.05, 0.1, 0.012}} {
		r.lanes[0].lose(100_000, c.burst)
		before, lost, rows, last := r.lanes[0].losses(), 0, 0, uint32(0)
		for range packets {
			ret, _, err := program.Test(packet)
			if err != nil {
				t.Fatal(err)
			}
			if ret == drop {
				if lost++; last != drop {
					rows++
				}
			}
			last = ret
		}
		row, share := float64(lost)/float64(rows), float64(lost)/packets
		if math.Abs(row-c.row) > c.within || math.Abs(share-c.share) > c.ofShare || r.lanes[0].losses()-before != uint64(lost) {
			t.Errorf("bursts of %d: %.2f in a row, share %.3f, %d counted of %d", c.burst, row, share, r.lanes[0].losses()-before, lost)
		}
	}
}
