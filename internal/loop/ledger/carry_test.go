package ledger

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/record"
)

// kept is a connection of many responses, as the kernel counts it, beside the truth.
type kept struct {
	*life
	until int64            // end of the block in which the response in progress crossed; 0 none
	truth map[int64]uint64 // by block: bytes acknowledged of responses that crossed in it, from there on
}

const carryBlock = 60

// step lets a second pass in which bytes are acknowledged, with what the kernel does in it.
func (c *kept) step(unix int64, bytes uint64, begins, crosses bool, arm record.Arm) {
	if c.until != 0 && unix >= c.until || begins {
		c.stop()
	}
	if begins {
		c.until = 0
	}
	if crosses && c.until == 0 {
		c.cross(unix, arm)
		c.until = (unix/carryBlock + 1) * carryBlock
		c.turn()
	}
	c.n[acked] += bytes
	if c.until > unix && bytes > 0 {
		c.truth[unix/carryBlock] += bytes
	}
}

func (c *kept) stop() {
	if c.mark.Flags&abi.MarkCounting != 0 {
		c.turn()
	}
}

// cross is what the kernel does where a response reaches the threshold.
func (c *life) cross(unix int64, arm record.Arm) {
	c.mark.Crossings++
	c.mark.CrossedNs, c.mark.Assigned, c.mark.Applied = uint64(unix*1e9-testOffset), arm, record.AppliedControl
	if arm == record.ArmTreatment {
		c.mark.SwitchedNs, c.mark.Applied = c.mark.CrossedNs, record.AppliedTreatment
		c.mark.Flags |= abi.MarkSwitched
	}
}

// What records count in a block is what responses that crossed there moved, from the crossing to
// the block's end, and a record of a block without a crossing is a carry-over that counts nothing.
// Arms change none of it: with T and C exchanged the records are the same.
func TestResponsesCountInTheirBlock(t *testing.T) {
	type second struct {
		bytes           uint64
		begins, crosses bool
	}
	rapid.Check(t, func(t *rapid.T) {
		life := make([]second, 200)
		for i := range life {
			life[i] = second{rapid.Uint64Range(0, 1000).Draw(t, "bytes"), rapid.IntRange(0, 20).Draw(t, "begins") == 0, rapid.IntRange(0, 20).Draw(t, "crosses") == 0}
		}
		every := rapid.Int64Range(1, simWindow).Draw(t, "poll")
		run := func(exchanged int64) (out []record.Conn) {
			f := newFlow(Config{WindowSeconds: simWindow, BlockSeconds: carryBlock})
			crossed, counted := int64(0), map[int64]uint64{}
			f.l.cfg.Emit = func(r *record.Conn) {
				block := r.Window / carryBlock
				if want := crossed > 0 && crossed/carryBlock != block; r.Carryover != want || want && r.WinCountedBytesAcked > 0 {
					t.Fatalf("window %d, last crossing %d: carryover %v, %d bytes count", r.Window, crossed, r.Carryover, r.WinCountedBytesAcked)
				}
				if r.WinCountedBytesAcked > 0 {
					counted[block] += r.WinCountedBytesAcked
				}
				n := *r
				n.Assigned, n.Applied, n.Cong, n.DefaultCong, n.SwitchedNs = 0, 0, "", false, 0
				out = append(out, n)
			}
			c := &kept{life: newLife(1, 1), truth: map[int64]uint64{}}
			c.marked, c.mark.EstablishedNs = true, uint64(3000e9-testOffset)
			for i, s := range life {
				at := 3000 + int64(i)
				if s.crosses && (c.until == 0 || s.begins) {
					crossed = at
				}
				c.step(at, s.bytes, s.begins, s.crosses, record.ArmControl-record.Arm((at/carryBlock+exchanged)%2))
				if final := (at+1)%simWindow == 0; final || (at+1)%every == 0 {
					f.poll(at+1, at/simWindow*simWindow, final, c.life)
				}
			}
			if d := cmp.Diff(c.truth, counted); d != "" {
				t.Fatalf("truth -, counted +:\n%s", d)
			}
			return out
		}
		if d := cmp.Diff(run(0), run(1), cmpopts.EquateComparable(netip.AddrPort{})); d != "" {
			t.Fatalf("arms exchanged:\n%s", d)
		}
	})
}
