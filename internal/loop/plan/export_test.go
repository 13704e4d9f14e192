package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
)

// TestExportIsProgram: whatever the plan and the moment of its life, other programs treat what the kernel treats, and what was
// exported stays the same until the time that it names.
func TestExportIsProgram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPlan().Draw(t, "plan")
		p.Sort()
		unix := rapid.Int64Range(p.Created, p.Expires-1).Draw(t, "unix")
		x, err := p.Export(nil, unix, false)
		if err != nil {
			t.Fatal(err)
		}
		var want []Exported
		for i, e := range p.Program(unix*second, 0, second).Entries {
			if e.Policy.ArmNow == record.ArmTreatment && e.Policy.Role != record.ArmAA {
				want = append(want, Exported{e.Prefix, p.Entries[i].Cong, p.Entries[i].CapBytesPerS})
			}
		}
		if d := cmp.Diff(want, x.Treated); d != "" {
			t.Fatalf("the kernel treats (-), the export has (+):\n%s", d)
		}
		again, err := p.Export(nil, rapid.Int64Range(unix, x.Until-1).Draw(t, "later"), false)
		if d := cmp.Diff(x, again, cmpopts.IgnoreUnexported(Export{})); err != nil || d != "" || x.Until > p.Expires {
			t.Fatalf("until %d, of a plan until %d: %v %s", x.Until, p.Expires, err, d)
		}
		every, err := p.Export(nil, unix, true)
		if err != nil || every.Control != 0 || len(every.Treated) != len(x.Treated)+x.Control || len(every.Treated)+every.Never != len(p.Entries) || every.Until != p.Expires {
			t.Fatalf("%d entries; this block %d, %d, %d; every block %d, %d, until %d: %v", len(p.Entries), len(x.Treated), x.Control, x.Never, len(every.Treated), every.Never, every.Until, err)
		}
	})
}
