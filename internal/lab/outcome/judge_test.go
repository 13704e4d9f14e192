package outcome

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/lab/scenario"
)

// variants of cell100 that an honest world runs, each of them valid.
var variants = map[string]func(*scenario.Cell){
	"as it is":  func(*scenario.Cell) {},
	"no loss":   func(c *scenario.Cell) { c.Path.Loss.PPM = 0 },
	"16 % loss": func(c *scenario.Cell) { c.Path.Loss.PPM = 160_000 },
	"64 kbit/s": func(c *scenario.Cell) { c.Path.RateBitPerS, c.Flows[0].Bytes, c.Path.BufferPacket = 64_000, 400_000, 8 },
	"6 ms":      func(c *scenario.Cell) { c.Path.RTTUs = 6000 },
	"tbf":       func(c *scenario.Cell) { c.Path.Bottleneck, c.Path.BurstBytes = "tbf", 12_500 },
	"two flows": func(c *scenario.Cell) {
		c.Flows = append(c.Flows, scenario.Flow{Name: "b", Cong: "cubic", Bytes: 64_000_000})
	},
	"jumbo frames":  func(c *scenario.Cell) { c.Path.MTU = 9000 },
	"a long buffer": func(c *scenario.Cell) { c.Path.BufferPacket = 20_000 },
	"application's rate": func(c *scenario.Cell) {
		c.Flows[0].RateBitPerS = 90_000_000
	},
	"no bottleneck queue seen": func(c *scenario.Cell) { c.Path.BufferPacket = 3 },
}

func TestHonestRunsAreValid(t *testing.T) {
	for name, change := range variants {
		c := cell100()
		change(&c)
		r := Judge(scenarioOf(c), &c, honest(&c))
		for _, g := range r.Gates {
			if !g.OK || g.Got == "" || g.Want == "" || g.Why != "" {
				t.Errorf("%s: %s broken: %q, want %q (%s)", name, g.Name, g.Got, g.Want, g.Why)
			}
		}
		if !r.Valid || r.Metrics == nil || len(r.Gates) != len(rules) {
			t.Errorf("%s: valid %v with %d gates", name, r.Valid, len(r.Gates))
		}
	}
}

// TestGateNames: a scenario may exempt from each gate and from nothing else, and each has
// one name.
func TestGateNames(t *testing.T) {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	if !slices.Equal(scenario.Gates, names) {
		t.Errorf("a file may exempt from %q, the gates are %q", scenario.Gates, names)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(rules) {
		t.Error("two gates with one name")
	}
}

// TestJudgeIsRepeatable: the same facts give the same bytes, and are left alone.
func TestJudgeIsRepeatable(t *testing.T) {
	c := cell100()
	c.Flows = append(c.Flows, scenario.Flow{Name: "b", Cong: "bbr", Bytes: 32_000_000})
	run := honest(&c)
	before, _ := json.Marshal(run)
	var first []byte
	for range 20 {
		got, err := json.Marshal(Judge(scenarioOf(c), &c, run))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		if !bytes.Equal(first, got) {
			t.Fatalf("not the same:\n%s\n%s", first, got)
		}
	}
	if after, _ := json.Marshal(run); !bytes.Equal(before, after) {
		t.Error("the run was changed")
	}
}

// TestEmptyRun: a world that tells nothing proves nothing, and breaks nothing.
func TestEmptyRun(t *testing.T) {
	c := cell100()
	r := Judge(scenarioOf(c), &c, &Run{})
	if r.Valid {
		t.Error("valid")
	}
	c.Flows, c.Path = nil, scenario.Path{}
	if _, err := json.Marshal(Judge(&scenario.Scenario{}, &c, &Run{})); err != nil {
		t.Error(err)
	}
}

// TestGatesPage: docs/gates.md has a row for each gate, in this order, and for no other.
func TestGatesPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/gates.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllSubmatch(page, -1) {
		rows = append(rows, string(m[1]))
	}
	if !slices.Equal(rows, scenario.Gates) {
		t.Errorf("docs/gates.md has %v, gates are %v", rows, scenario.Gates)
	}
}
