package plan

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Whatever the moment, the kernel's rule (arm_now before switch_ns, arm_next up
// to until_ns) has the arm that ArmAt recomputes.
func TestProgramIsArmAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPlan().Draw(t, "plan")
		p.Sort()
		unixNs := rapid.Int64Range(2*86400, 1<<33).Draw(t, "unix")*second + rapid.Int64Range(0, second-1).Draw(t, "ns")
		bootNs := rapid.Int64Range(0, 1<<55).Draw(t, "boot")
		ttlNs := rapid.Int64Range(0, 7*86400*second).Draw(t, "ttl")
		prog := p.Program(unixNs, bootNs, ttlNs)
		if prog.BlockNs != uint64(p.BlockSeconds)*second || prog.WashoutMs != uint32(p.WashoutSeconds)*1000 || len(prog.Entries) > 0 && prog.BorderNs != prog.Entries[0].Policy.SwitchNs {
			t.Fatalf("blocks of %d ns, border at %d", prog.BlockNs, prog.BorderNs)
		}
		if len(prog.Entries) != len(p.Entries) || prog.Plan != p.Serial || prog.MinBytes != p.MinBytes {
			t.Fatalf("program %d, %d bytes, %d entries", prog.Plan, prog.MinBytes, len(prog.Entries))
		}
		for i, e := range prog.Entries {
			v := e.Policy
			pace := p.Entries[i].CapBytesPerS
			if v.Role == record.ArmAA {
				pace = 0
			}
			if scouts := (p.CapRule == CapRuleLate); scouts != (v.Scout == Scouts) || !scouts && v.Scout != 0 {
				t.Fatalf("cap rule %q, one scout in %d", p.CapRule, v.Scout)
			}
			if e.Prefix != p.Entries[i].Prefix || v.Cong.String() != p.Entries[i].Cong || v.CapBytesPerS != pace || v.Plan != uint64(p.Serial) {
				t.Fatalf("entry %d is %v", i, e)
			}
			until := int64(v.UntilNs) - bootNs
			if until <= 0 || v.UntilNs-v.SwitchNs != uint64(p.BlockSeconds)*second || int64(v.SwitchNs) <= bootNs {
				t.Fatalf("switch %d, until %d, now %d", v.SwitchNs, v.UntilNs, bootNs)
			}
			later := rapid.Int64Range(0, until-1).Draw(t, "later")
			arm := v.ArmNow
			if uint64(bootNs+later) >= v.SwitchNs {
				arm = v.ArmNext
			}
			want, _ := p.ArmAt(e.Prefix, (unixNs+later)/second)
			if want == record.ArmAA { // treated with the default, in the blocks of a trial
				if v.Role != record.ArmAA {
					t.Fatalf("%s: A/A, and its role is %s", e.Prefix, v.Role)
				}
				want = p.draws().Arm(e.Prefix, p.GroupTrial, (unixNs+later)/second/p.BlockSeconds)
			}
			if arm != want {
				t.Fatalf("%s: the kernel takes %s, the record's is %s", e.Prefix, arm, want)
			}
			// Treatment ends with the time to live or with the plan, whichever is first.
			expires := bootNs + ttlNs
			if left := p.Expires*second - unixNs; left < ttlNs {
				expires = max(0, bootNs+left)
			}
			if int64(v.ExpiresNs) != expires {
				t.Fatalf("expires %d, want %d", v.ExpiresNs, expires)
			}
		}
	})
}

// An unvalidated plan must not overflow into a treatment for ever.
func TestProgramOfAbsurdDates(t *testing.T) {
	for _, expires := range []int64{-1 << 63, -1, 0, 1<<63 - 1} {
		p := testPlan()
		p.Expires = expires
		p.Entries = []Entry{{Prefix: mustPrefix("203.0.113.0/24"), Cong: "bbr"}}
		v := p.Program(noon*second, 5*second, 900*second).Entries[0].Policy
		want := uint64(0)
		if expires > noon {
			want = 905 * second
		}
		if v.ExpiresNs != want {
			t.Errorf("expires %d s: %d ns, want %d", expires, v.ExpiresNs, want)
		}
	}
}
