package report

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/lab/outcome"
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

// summaryCSV has one line per row, for spreadsheets. Unknown values are empty, as are all
// numbers of an invalid row.
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

// sampleLine is a sample with its origin.
type sampleLine struct {
	Cell string `json:"cell"`
	Seed uint64 `json:"seed"`
	outcome.Sample
}

// sampleLines returns all samples of valid runs, one per line: a notebook reads them at
// once.
func sampleLines(f *Folder) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	e := json.NewEncoder(z)
	for i := range f.Results {
		r := &f.Results[i]
		if !r.Valid {
			continue
		}
		run, err := f.Load(r.Cell, r.Seed)
		if err != nil {
			return nil, fmt.Errorf("samples of %s, seed %d: %w", r.Cell, r.Seed, err)
		}
		for _, s := range run.Samples {
			if err := e.Encode(sampleLine{r.Cell, r.Seed, s}); err != nil {
				return nil, err
			}
		}
	}
	err := z.Close()
	return b.Bytes(), err
}
