package world

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/lab/scenario"
)

// baseCell is a common cell; tests change it.
func baseCell() scenario.Cell {
	return scenario.Cell{
		ID: "base/cubic", Arm: scenario.Arm{Name: "cubic", Cong: "cubic", Qdisc: "fq"},
		Sender:   scenario.Sender{Qdisc: "fq", Pacing: "auto", SndbufBytes: 8 << 20, RcvbufBytes: 8 << 20},
		Path:     scenario.Path{RateBitPerS: 20_000_000, RTTUs: 20_000, MTU: 1500, Bottleneck: "netem", BufferPacket: 100, Loss: scenario.Loss{At: scenario.LossAfter}},
		Flows:    []scenario.Flow{{Name: "a", Cong: "cubic", Bytes: 2_000_000}},
		SampleUs: 10_000, ProbeUs: 50_000, WarmUpUs: 500_000, LimitUs: 30_000_000,
	}
}

// Each case is the common cell with what the input changes, as JSON.
func TestPlan(t *testing.T) {
	datadriven.Walk(t, "testdata/plan", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c := baseCell()
			if err := json.Unmarshal([]byte(d.Input), &c); err != nil {
				t.Fatal(err)
			}
			p, err := planOf(&c, 1)
			if err != nil {
				return fmt.Sprintln("error:", err)
			}
			return p.String()
		})
	})
}

// Streams differ from each other and between seeds, and none is 0.
func TestDerive(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(1000) {
		for stream := range uint64(8) {
			n := derive(seed, stream)
			if n == 0 || seen[n] {
				t.Fatalf("seed %d, stream %d: %d", seed, stream, n)
			}
			seen[n] = true
		}
	}
}

// String returns the plan line by line, for people.
func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "mtu %d", p.mtu)
	if p.txQueue > 0 {
		fmt.Fprintf(&b, ", %s %s txqueuelen %d", bn, wan, p.txQueue)
	}
	if p.segment {
		fmt.Fprintf(&b, ", %s %s tso off gso off", srv, bn)
	}
	if p.oneByOne {
		fmt.Fprintf(&b, " gso_max_segs 1")
	}
	b.WriteByte('\n')
	for i := range p.places {
		at := &p.places[i]
		fmt.Fprintf(&b, "%s %s %s", at.node, at.placeText(), at.spec)
		if len(at.roles) > 0 {
			fmt.Fprintf(&b, "  [%s]", strings.Join(at.roles, ", "))
		}
		b.WriteByte('\n')
	}
	for _, c := range p.changes {
		at := &p.places[c.at]
		fmt.Fprintf(&b, "at %d us: %s %s %s\n", c.atUs, at.node, at.placeText(), c.spec)
	}
	for _, s := range p.ends {
		fmt.Fprintf(&b, "%s %s: %s = %s\n", srv, cli, s.Key, s.Value)
	}
	return b.String()
}

func (at *place) placeText() string {
	if at.major == 0 {
		return at.link
	}
	if at.parent == 0 {
		return fmt.Sprintf("%s root %d:", at.link, at.major)
	}
	return fmt.Sprintf("%s parent %d:%d %d:", at.link, at.parent, at.class+1, at.major)
}
