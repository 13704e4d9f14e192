package report

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/core/outcome"
)

// measures are the intervals of a row, with the units that their names carry.
var measures = []struct {
	name string
	of   func(*outcome.Row) *outcome.Interval
}{
	{"goodput_bit_per_s", func(r *outcome.Row) *outcome.Interval { return r.Goodput }},
	{"steady_bit_per_s", func(r *outcome.Row) *outcome.Interval { return r.Steady }},
	{"completion_us", func(r *outcome.Row) *outcome.Interval { return r.Completed }},
	{"retrans_share", func(r *outcome.Row) *outcome.Interval { return r.Retrans }},
	{"queue_p95_us", func(r *outcome.Row) *outcome.Interval { return r.QueueP95 }},
	{"jain", func(r *outcome.Row) *outcome.Interval { return r.Jain }},
	{"wire_bit_per_s", func(r *outcome.Row) *outcome.Interval { return r.Wire }},
	{"policer_share", func(r *outcome.Row) *outcome.Interval { return r.Policer }},
	{"ratio", func(r *outcome.Row) *outcome.Interval { return r.Ratio }},
}

// summaryCSV is one line a row, for spreadsheets. What is not known is empty, and all
// numbers of an invalid row are.
func summaryCSV(f *Folder) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"cell", "group", "arm", "runs", "invalid", "reasons"}
	for _, m := range measures {
		head = append(head, m.name, m.name+"_low", m.name+"_high")
	}
	head = append(head, "bound_bit_per_s", "model_low_bit_per_s", "model_high_bit_per_s", "verdict")
	w.Write(head) // an error stays until Flush
	for i := range f.Summary.Rows {
		w.Write(csvRow(&f.Summary.Rows[i]))
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func csvRow(r *outcome.Row) []string {
	out := []string{r.Cell, r.Group, r.Arm, strconv.Itoa(r.Runs), strconv.Itoa(r.Invalid), strings.Join(r.Reasons, "; ")}
	for _, m := range measures {
		if v := m.of(r); v != nil && valid(r) {
			out = append(out, plain(v.Median), plain(v.Low), plain(v.High))
		} else {
			out = append(out, "", "", "")
		}
	}
	if t := r.Theory; t != nil {
		return append(out, plain(t.BoundBitPerS), plain(t.LowBitPerS), plain(t.HighBitPerS), t.Verdict)
	}
	return append(out, "", "", "", "")
}

func plain(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
