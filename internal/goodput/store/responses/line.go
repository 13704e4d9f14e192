package responses

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/congctl/congctl/internal/core/accesslog"
	"github.com/congctl/congctl/internal/core/goodput"
)

// settled is the line that ends a window's rows.
type settled struct {
	Settled   int64             `json:"settled"` // start of the window, Unix seconds
	Responses uint64            `json:"responses"`
	Matched   uint64            `json:"matched"`
	Bursts    uint64            `json:"bursts,omitempty"`
	Small     uint64            `json:"small,omitempty"`
	Carryover uint64            `json:"carryover,omitempty"`
	Buffered  uint64            `json:"buffered,omitempty"`
	Unmatched map[string]uint64 `json:"unmatched,omitempty"` // by reason
	BadLines  uint64            `json:"bad_lines,omitempty"`
	Dropped   uint64            `json:"dropped,omitempty"`
	Unfollow  uint64            `json:"connections_not_followed,omitempty"`
}

// appendBatch appends a batch's lines.
func appendBatch(b []byte, batch *goodput.Batch) ([]byte, error) {
	for i := range batch.Rows {
		text, err := json.Marshal(&batch.Rows[i])
		if err != nil {
			return nil, fmt.Errorf("encode goodput row: %w", err)
		}
		b = append(append(b, text...), '\n')
	}
	t := &batch.Tally
	end := settled{Settled: batch.Window, Responses: t.Responses, Matched: t.Matched, Bursts: t.Bursts, Small: t.Small, Carryover: t.Carryover,
		Buffered: t.Buffered, Unmatched: map[string]uint64{}, BadLines: batch.BadLine, Dropped: batch.Dropped, Unfollow: t.ConnsOverflow}
	for r, n := range t.Unmatched {
		if n > 0 {
			end.Unmatched[accesslog.Reason(r).String()] = n
		}
	}
	text, err := json.Marshal(&end)
	if err != nil {
		return nil, fmt.Errorf("encode goodput tally: %w", err)
	}
	return append(append(b, text...), '\n'), nil
}

// parseLine reads one line: a row, or the end of a batch. Exactly one is given.
func parseLine(line []byte) (*goodput.Row, *goodput.Batch, error) {
	if bytes.HasPrefix(line, []byte(`{"settled":`)) {
		var s settled
		if err := strictly(line, &s); err != nil {
			return nil, nil, err
		}
		batch, err := s.batch()
		return nil, batch, err
	}
	var r goodput.Row
	if err := strictly(line, &r); err != nil {
		return nil, nil, err
	}
	return &r, nil, checkRow(&r)
}

func (s *settled) batch() (*goodput.Batch, error) {
	t := accesslog.Tally{Responses: s.Responses, Matched: s.Matched, Bursts: s.Bursts, Small: s.Small, Carryover: s.Carryover, Buffered: s.Buffered,
		ConnsOverflow: s.Unfollow}
	known := 0
	for r := range t.Unmatched {
		if n, ok := s.Unmatched[accesslog.Reason(r).String()]; ok {
			t.Unmatched[r] = n
			known++
		}
	}
	if known != len(s.Unmatched) {
		return nil, fmt.Errorf("unmatched %v: a reason that this version does not know", s.Unmatched)
	}
	return &goodput.Batch{Window: s.Settled, Tally: t, BadLine: s.BadLines, Dropped: s.Dropped}, nil
}

func strictly(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("more than one object")
	}
	return nil
}

func checkRow(r *goodput.Row) error {
	switch {
	case !r.Prefix.Valid() || r.Prefix == 0:
		return fmt.Errorf("prefix: missing")
	case r.Window <= 0:
		return fmt.Errorf("window_start %d: not a time", r.Window)
	case int(r.N) < len(r.BytesPerS) || r.N > 0 && len(r.BytesPerS) == 0:
		return fmt.Errorf("n %d: with %d values", r.N, len(r.BytesPerS))
	}
	for _, v := range r.BytesPerS {
		if !(v >= 0) {
			return fmt.Errorf("bytes_per_s %v: below zero", v)
		}
	}
	return nil
}
