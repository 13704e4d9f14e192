package outcome

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/lab/scenario"
)

// recording is a cell that was asked for and what a real world saw. They are of Linux
// 6.1.192 (Debian's cloud kernel) in the vm world, seed 1; the wrong ones ran a cell that
// differs from the one asked for by what their name says.
type recording struct {
	Name  string        `json:"name"`
	Asked scenario.Cell `json:"asked"`
	Run   Run           `json:"run"`
}

func recordings(t *testing.T) map[string]recording {
	b, err := os.ReadFile("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]recording{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b))
	for lines.Scan() {
		var r recording
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		all[r.Name] = r
	}
	return all
}

// TestRecordings: real runs pass, real mistakes do not, as testdata/recorded tells.
func TestRecordings(t *testing.T) {
	all := recordings(t)
	datadriven.RunTest(t, "testdata/recorded", func(t *testing.T, d *datadriven.TestData) string {
		r, ok := all[strings.TrimSpace(d.Input)]
		if !ok {
			d.Fatalf(t, "no recording %q", d.Input)
		}
		delete(all, r.Name)
		result := Judge(scenarioOf(r.Asked), &r.Asked, &r.Run)
		var b strings.Builder
		for _, g := range result.Gates {
			if !g.OK {
				fmt.Fprintf(&b, "%s: %s\n", g.Name, g.Got)
			}
		}
		if m := result.Metrics; m != nil {
			fmt.Fprintf(&b, "valid: goodput %s, steady %s, wire %s, retransmitted %s, queue %s at the median\n", bits(m.GoodputBitPerS),
				bits(m.SteadyBitPerS), bits(m.WireBitPerS), percent(m.RetransShare), micros(m.QueueUs.P50))
		}
		return b.String()
	})
	for name := range all {
		t.Errorf("testdata/recorded does not tell of %q", name)
	}
}
