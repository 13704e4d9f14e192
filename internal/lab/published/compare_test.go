package published

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// sweep is a loss sweep at 100 Mbit/s whose goodputs are the published times, a tenth,
// times change.
func sweep(change func(key, cong string) float64) outcome.Summary {
	table, _ := Find("loss-sweep.csv")
	s := outcome.Summary{Scenario: scenario.Scenario{Published: table.Name}}
	for i, r := range table.Rows {
		for _, v := range r.Values {
			c := scenario.Cell{ID: "loss=" + r.Key + "%/" + v.Cong, Arm: scenario.Arm{Name: v.Cong, Cong: v.Cong, Qdisc: "fq"}}
			c.Path.RateBitPerS = 100e6
			c.Path.Loss.PPM = []uint32{0, 1_000, 10_000, 20_000, 40_000, 80_000, 160_000}[i]
			goodput := 2e9 * 8 / v.Mid() / 10 * change(r.Key, v.Cong)
			s.Scenario.Cells = append(s.Scenario.Cells, c)
			s.Rows = append(s.Rows, outcome.Row{Cell: c.ID, Group: c.Group(), Arm: v.Cong, Goodput: &outcome.Interval{Median: goodput}})
		}
	}
	return s
}

func same(string, string) float64 { return 1 }

func TestEqualValuesHaveRatioOne(t *testing.T) {
	list, shape := Compare(sweep(same))
	if len(list) != 14 {
		t.Fatalf("%d comparisons, want 14", len(list))
	}
	for _, c := range list {
		if math.Abs(c.Ratio-1) > 1e-9 || c.Factor != 10 {
			t.Errorf("%s %s: %+v", c.Group, c.Arm, c)
		}
	}
	// 7 winners and 2 x 21 orders.
	if !shape.Holds || shape.Same != 49 || shape.Of != 49 || len(shape.Contrary) != 0 {
		t.Errorf("%+v", shape)
	}
}

// TestEqualScaleKeepsTheShape: a slower link changes ratios and nothing else.
func TestEqualScaleKeepsTheShape(t *testing.T) {
	list, shape := Compare(sweep(func(string, string) float64 { return 0.5 }))
	if !shape.Holds || math.Abs(list[3].Ratio-2) > 1e-9 { // seconds
		t.Errorf("%+v, %+v", list[3], shape)
	}
}

func TestContraryShapesAreNamed(t *testing.T) {
	_, shape := Compare(sweep(func(key, cong string) float64 {
		if key == "16" && cong == bbr {
			return 0.001
		}
		return 1
	}))
	// BBR loses at 16 %. Its order contradicts nothing: it was the slowest there already.
	if shape.Holds || shape.Same != 48 || strings.Join(shape.Contrary, "|") != "loss=16%: published BBR is faster, here CUBIC is faster" {
		t.Errorf("%+v", shape)
	}
	_, shape = Compare(sweep(func(key, cong string) float64 {
		if key == "8" && cong == cubic {
			return 1000
		}
		return 1
	}))
	want := "loss=8%: published BBR is faster, here CUBIC is faster"
	if shape.Holds || shape.Contrary[0] != want || !strings.Contains(shape.Text, "cubic: 4 is not faster than 8") {
		t.Errorf("%+v", shape)
	}
}

// TestInvalidRowsAreLeftOut: no number, no comparison.
func TestInvalidRowsAreLeftOut(t *testing.T) {
	s := sweep(same)
	s.Rows[0].Goodput = nil
	list, shape := Compare(s)
	if len(list) != 13 || shape.Of != 49-1-6 {
		t.Errorf("%d comparisons, %+v", len(list), shape)
	}
	s.Scenario.Published = ""
	if list, shape = Compare(s); list != nil || shape.Holds {
		t.Errorf("compared with nothing: %v, %+v", list, shape)
	}
}

// TestRowsAreFoundByWhatACellIs, arm included.
func TestRowsAreFoundByWhatACellIs(t *testing.T) {
	for _, k := range []struct {
		table string
		cell  scenario.Cell
		want  string
	}{
		{"rtt-sweep.csv", scenario.Cell{Arm: scenario.Arm{Cong: cubic, Qdisc: "pfifo_fast"}, Path: scenario.Path{RTTUs: 99_000}}, "seattle 6.01"},
		{"rtt-sweep.csv", scenario.Cell{Arm: scenario.Arm{Cong: bbr, Qdisc: "fq"}, Path: scenario.Path{RTTUs: 231_000}}, "paris 9.81"},
		{"rtt-sweep.csv", scenario.Cell{Arm: scenario.Arm{Cong: cubic, Qdisc: "fq"}, Path: scenario.Path{RTTUs: 99_000}}, ""},
		{"rtt-sweep.csv", scenario.Cell{Arm: scenario.Arm{Cong: bbr, Qdisc: "fq"}, Path: scenario.Path{RTTUs: 98_000}}, ""},
		{"iot-uplink.csv", scenario.Cell{Arm: scenario.Arm{Cong: bbr}, Axes: []scenario.AxisValue{{Name: "network", Value: "lte_att_20dB"}}}, "lte_att_20dB 559"},
		{"iot-uplink.csv", scenario.Cell{Arm: scenario.Arm{Cong: bbr}}, ""},
		{"loss-sweep.csv", scenario.Cell{Arm: scenario.Arm{Cong: bbr, Qdisc: "netem"}, Path: scenario.Path{Loss: scenario.Loss{PPM: 1000}}}, "0.1 17.336"},
		{"loss-sweep.csv", scenario.Cell{Arm: scenario.Arm{Cong: "vegas"}}, ""},
		{"tbf-shaping.csv", scenario.Cell{Arm: scenario.Arm{Cong: cubic}, Sender: scenario.Sender{TbfBitPerS: 8e6, TbfBurst: 204_800, SuperPackets: true}}, "tbf_with_tso_gso_on 138"},
		{"tbf-shaping.csv", scenario.Cell{Arm: scenario.Arm{Cong: cubic}, Sender: scenario.Sender{TbfBitPerS: 8e6, TbfBurst: 204_800}}, "tbf_with_tso_gso_off 975.5"},
		{"tbf-shaping.csv", scenario.Cell{Arm: scenario.Arm{Cong: cubic}, Sender: scenario.Sender{TbfBitPerS: 1e6, TbfBurst: 204_800}}, ""},
	} {
		table, _ := Find(k.table)
		got := ""
		if row, v, ok := table.value(&k.cell); ok {
			got = fmt.Sprint(table.Rows[row].Key, " ", v.Mid())
		}
		if got != k.want {
			t.Errorf("%s, %+v: %q, want %q", k.table, k.cell, got, k.want)
		}
	}
}

// TestWireTablesTakeTheWire: tbf's own bytes, and a range in the note.
func TestWireTablesTakeTheWire(t *testing.T) {
	c := scenario.Cell{ID: "x/a", Arm: scenario.Arm{Name: "a", Cong: cubic}, Sender: scenario.Sender{TbfBitPerS: 8e6, TbfBurst: 204_800}}
	s := outcome.Summary{Scenario: scenario.Scenario{Published: "tbf-shaping.csv", Cells: []scenario.Cell{c}},
		Rows: []outcome.Row{{Cell: "x/a", Group: "x", Arm: "a", Goodput: &outcome.Interval{Median: 1}, Wire: &outcome.Interval{Median: 8e6}}}}
	list, _ := Compare(s)
	if len(list) != 1 || list[0].Ours != 976.5625 || list[0].Factor != 1 || list[0].Note != "published: 974 to 977 KiB/s on the wire" {
		t.Errorf("%+v", list)
	}
}

// TestReasonsAreOfTheCell: who loses super-packets at the sender, as the article did,
// differs from it by the pacing of BBR and not by trains of losses.
func TestReasonsAreOfTheCell(t *testing.T) {
	s := sweep(same)
	plain, _ := Compare(s)
	for i := range s.Scenario.Cells {
		c := &s.Scenario.Cells[i]
		c.Sender.SuperPackets, c.Path.Loss.At = true, scenario.LossSender
	}
	alike, _ := Compare(s)
	for i := range s.Scenario.Cells {
		s.Scenario.Cells[i].Sender.Pacing = scenario.PacingNone
	}
	unpacedToo, _ := Compare(s)
	for i, c := range alike {
		switch {
		case c.Arm == bbr && strings.Contains(unpacedToo[i].Note, "paced"):
			t.Errorf("%s %s, unpaced: %q", c.Group, c.Arm, unpacedToo[i].Note)
		case c.Arm == bbr && !strings.Contains(c.Note, "4.13"):
			t.Errorf("%s %s: %q", c.Group, c.Arm, c.Note)
		case c.Arm == cubic && strings.Contains(c.Note, "super-packet"):
			t.Errorf("%s %s: %q", c.Group, c.Arm, c.Note)
		}
		if c.Group == "loss=4%" && !strings.Contains(plain[i].Note, "super-packet") && !strings.Contains(plain[i].Note, "unpaced") {
			t.Errorf("%s %s, packets one by one: %q", c.Group, c.Arm, plain[i].Note)
		}
	}
}
