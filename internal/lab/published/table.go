package published

import (
	"embed"
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/core/scenario"
)

//go:embed data/*.csv
var data embed.FS

// Table is one article's.
type Table struct {
	Name   string // as scenarios name it: "loss-sweep.csv"
	Source string // the article, and how it measured
	Unit   Unit
	// LinkBitPerS is the class of the article's link; ours times LinkBitPerS / our rate is
	// what stands beside it. 0: ours has the same rate.
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

// Value is what one arm got. Low and High differ where the article shows a range.
type Value struct {
	Cong, Qdisc string // of the arm; Qdisc "" where the article had none of ours
	Low, High   float64
}

// Mid is what ours is compared with.
func (v Value) Mid() float64 { return (v.Low + v.High) / 2 }

// column says which arm a column is of. A range has a second column.
type column struct{ low, high, cong, qdisc string }

// Tables are all, in alphabetical order.
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

// Find gives the table of that name, with its rows.
func Find(name string) (Table, bool) {
	for _, t := range Tables() {
		if t.Name == name {
			t.read()
			return t, true
		}
	}
	return Table{}, false
}

// read fills in what the file has. The file is part of the program: what is wrong in it
// shows in the tests, so nothing here can fail.
func (t *Table) read() {
	text, _ := data.ReadFile("data/" + t.Name)
	var source, body []string
	for line := range strings.Lines(string(text)) {
		if about, ok := strings.CutPrefix(line, "# "); ok {
			source = append(source, strings.TrimSpace(about))
		} else {
			body = append(body, line)
		}
	}
	t.Source = strings.Join(source, " ")
	records, _ := csv.NewReader(strings.NewReader(strings.Join(body, ""))).ReadAll()
	for _, record := range records[1:] {
		row := Row{Key: record[0]}
		for _, c := range t.columns {
			v := Value{Cong: c.cong, Qdisc: c.qdisc, Low: field(records[0], record, c.low)}
			v.High = v.Low
			if c.high != "" {
				v.High = field(records[0], record, c.high)
			}
			row.Values = append(row.Values, v)
		}
		t.Rows = append(t.Rows, row)
	}
}

func field(head, record []string, name string) float64 {
	for i, h := range head {
		if h == name {
			v, _ := strconv.ParseFloat(record[i], 64)
			return v
		}
	}
	return 0
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
