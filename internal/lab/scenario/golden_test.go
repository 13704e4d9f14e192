package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestGolden: what a file expands to, and what a person reads when it is wrong.
//
//	cells          one line for each cell
//	cell [id=...]  every field of one, or of the first
//	faults         the error
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s, err := Parse("a.yml", []byte(d.Input))
			switch {
			case err != nil:
				return err.Error() + "\n"
			case d.Cmd == "cell":
				return cellText(t, s, d)
			case d.Cmd == "cells":
				return cellsText(s)
			}
			return "ok\n"
		})
	})
}

func cellsText(s *Scenario) string {
	var b strings.Builder
	for i := range s.Cells {
		fmt.Fprintln(&b, brief(&s.Cells[i]))
	}
	return b.String()
}

// brief is what matrices usually vary.
func brief(c *Cell) string {
	p := c.Path
	text := fmt.Sprintf("%s: %s, %d bit/s, %d us, %s %dp", c.ID, c.Sender.Qdisc, p.RateBitPerS, p.RTTUs, p.Bottleneck, p.BufferPacket)
	if p.BurstBytes > 0 {
		text += fmt.Sprintf(" burst %d", p.BurstBytes)
	}
	text += fmt.Sprintf(", loss %d %s", p.Loss.PPM, p.Loss.At)
	for _, f := range c.Flows {
		text += fmt.Sprintf("; %s %s", f.Name, f.Cong)
		for _, part := range []struct {
			name string
			n    uint64
		}{{"@", f.StartUs}, {"B", f.Bytes}, {"us", f.DurationUs}, {"bit/s", f.RateBitPerS}, {"x", uint64(f.Repeat)}} {
			if part.n > 0 {
				text += fmt.Sprintf(" %d%s", part.n, part.name)
			}
		}
	}
	for _, s := range p.Schedule {
		text += fmt.Sprintf("\n  %d us: %d bit/s, %d us, %d ppm", s.AtUs, s.RateBitPerS, s.RTTUs, s.LossPPM)
	}
	if c.Seeds != (Seeds{First: 1, Count: 1, Max: 1}) {
		text += fmt.Sprintf("; seeds %d+%d..%d to %g", c.Seeds.First, c.Seeds.Count, c.Seeds.Max, c.Seeds.HalfWidth)
	}
	return text
}

func cellText(t *testing.T, s *Scenario, d *datadriven.TestData) string {
	var id string
	d.MaybeScanArgs(t, "id", &id)
	for _, c := range s.Cells {
		if id == "" || c.ID == id {
			b, err := json.MarshalIndent(c, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			return string(b) + "\n"
		}
	}
	return "no such cell\n"
}
