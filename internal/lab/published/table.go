package published

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/lab/scenario"
)

//go:embed data/*.csv
var data embed.FS

// Table is one article's.
type Table struct {
	Name   string // as scenarios name it: "loss-sweep.csv"
	Source string // the article, and how it measured
	Unit   Unit
	// LinkBitPerS is the class of the article's link; ours times LinkBitPerS / our rate is
	// compared with it. 0: ours has the same rate.
	LinkBitPerS float64
	Rows        []Row

	columns []column
	key     func(c *scenario.Cell) string // of the row that c reproduces, "" for none
}

// Row is one point of the article's axis, in its order.
type Row struct {
	Key    string // "0.1", "tokyo", "lte_att_10dB"
	Values []Value
}

// Value is the result of one arm. Low and High differ if the article shows a range.
type Value struct {
	Cong, Qdisc string // of the arm; Qdisc "" where the article had none of ours
	Low, High   float64
}

// Mid is the value that ours is compared with.
func (v Value) Mid() float64 { return (v.Low + v.High) / 2 }

// column is the arm of a column. A range has a second column.
type column struct{ low, high, cong, qdisc string }

// Tables returns all of them, in alphabetical order.
func Tables() []Table {
	return []Table{
		{Name: "iot-uplink.csv", Unit: perSecond("kB/s", 1e3), key: network,
			columns: []column{{low: "cubic_kB_per_s", cong: cubic}, {low: "bbr_kB_per_s", cong: bbr}}},
		// The times without loss are of a gigabit port: 2 GB in 17.1 s are 936 Mbit/s.
		{Name: "loss-sweep.csv", Unit: secondsFor("s for 2 GB", 2e9), LinkBitPerS: 1e9, key: lossPercent,
			columns: []column{{low: "cubic_s", cong: cubic}, {low: "bbr_s", cong: bbr}}},
		// The fastest download went at 524 Mbit/s: a gigabit line.
		{Name: "rtt-sweep.csv", Unit: perSecond("MB/s", 1e6), LinkBitPerS: 1e9, key: site,
			columns: []column{{low: "cubic_pfifo_fast_MB_per_s", cong: cubic, qdisc: "pfifo_fast"}, {low: "bbr_fq_MB_per_s", cong: bbr, qdisc: "fq"}}},
		{Name: "tbf-shaping.csv", Unit: onTheWire(perSecond("KiB/s on the wire", 1024)), key: shaping,
			columns: []column{{low: "low_KiB_per_s", high: "high_KiB_per_s", cong: cubic}}},
	}
}

const (
	cubic = "cubic"
	bbr   = "bbr"
)

func onTheWire(u Unit) Unit { u.wire = true; return u }

// Find returns the table of that name, with its rows.
func Find(name string) (Table, bool) {
	for _, t := range Tables() {
		if t.Name == name {
			t.read()
			return t, true
		}
	}
	return Table{}, false
}

// read returns a file's comments and its records. The file is part of the program: the
// tests find what is wrong in it, so nothing here can fail.
func read(name string) (about string, records [][]string) {
	text, _ := data.ReadFile("data/" + name)
	var comments []string
	for line := range strings.Lines(string(text)) {
		if comment, ok := strings.CutPrefix(line, "# "); ok {
			comments = append(comments, strings.TrimSpace(comment))
		}
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comment = '#'
	records, _ = r.ReadAll()
	return strings.Join(comments, " "), records
}

func (t *Table) read() {
	source, records := read(t.Name)
	t.Source = source
	for _, record := range records[1:] {
		row := Row{Key: record[0]}
		for _, c := range t.columns {
			number := func(name string) float64 {
				v, _ := strconv.ParseFloat(record[slices.Index(records[0], name)], 64)
				return v
			}
			row.Values = append(row.Values, Value{c.cong, c.qdisc, number(c.low), number(cmp.Or(c.high, c.low))})
		}
		t.Rows = append(t.Rows, row)
	}
}

// value of the row and arm that c reproduces, if the article has one.
func (t *Table) value(c *scenario.Cell) (row int, v Value, ok bool) {
	key := t.key(c)
	for i, r := range t.Rows {
		for _, v := range r.Values {
			if r.Key == key && v.Cong == c.Arm.Cong && (v.Qdisc == "" || v.Qdisc == c.Arm.Qdisc) {
				return i, v, true
			}
		}
	}
	return 0, Value{}, false
}

// Unit is what a table counts in.
type Unit struct {
	Name string
	// of converts payload (or, if the table counts frames, wire) bit/s to the unit.
	of func(bitPerS float64) float64
	// less is better: the unit is a time.
	less bool
	wire bool
}

// perSecond is a rate in multiples of so many bytes a second.
func perSecond(name string, bytes float64) Unit {
	return Unit{Name: name, of: func(bitPerS float64) float64 { return bitPerS / 8 / bytes }}
}

// secondsFor is the time for that many bytes.
func secondsFor(name string, bytes float64) Unit {
	return Unit{Name: name, of: func(bitPerS float64) float64 { return bytes * 8 / bitPerS }, less: true}
}

// better is +1 where a is better than b, -1 where it is worse, 0 for a tie.
func (u Unit) better(a, b float64) int {
	switch {
	case max(a, b)*(1-tie) < min(a, b):
		return 0
	case (a > b) != u.less:
		return 1
	}
	return -1
}

// tie is a share of the better value: within it, two are equal. The articles' own runs
// without loss differ by more (21.1 and 17.4 s of CUBIC at 0 and 0.1 %).
const tie = 0.05

// Which row of a table a cell reproduces. This depends on the cell, not on the names of its
// axes, wherever the article reports enough.

func lossPercent(c *scenario.Cell) string {
	return strconv.FormatFloat(float64(c.Path.Loss.PPM)/1e4, 'f', -1, 64)
}

// site goes by the round trip, in milliseconds as pinged.
func site(c *scenario.Cell) string {
	return map[uint64]string{6_000: "tokyo", 99_000: "seattle", 231_000: "paris"}[c.Path.RTTUs]
}

// network goes by name: attenuation is no quantity of a cell.
func network(c *scenario.Cell) string {
	for _, a := range c.Axes {
		if a.Name == "network" {
			return a.Value
		}
	}
	return ""
}

// The article's `tbf limit 1Mb buffer 200Kb rate 1Mbps`.
const (
	askedBitPerS = 8_000_000
	askedBurst   = 200 << 10
)

func shaping(c *scenario.Cell) string {
	s := &c.Sender
	switch {
	case s.TbfBitPerS != askedBitPerS || s.TbfBurst != askedBurst:
		return ""
	case s.SuperPackets:
		return "tbf_with_tso_gso_on"
	}
	return "tbf_with_tso_gso_off"
}
