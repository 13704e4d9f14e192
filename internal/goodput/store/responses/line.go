package responses

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/congctl/congctl/internal/goodput"
)

// appendBatch appends a batch's lines.
func appendBatch(b []byte, batch *goodput.Batch) ([]byte, error) {
	for i := range batch.Rows {
		text, err := json.Marshal(&batch.Rows[i])
		if err != nil {
			return nil, fmt.Errorf("encode goodput row: %w", err)
		}
		b = append(append(b, text...), '\n')
	}
	text, err := json.Marshal(batch)
	if err != nil {
		return nil, fmt.Errorf("encode goodput tally: %w", err)
	}
	return append(append(b, text...), '\n'), nil
}

// parseLine reads one line: a row, or the end of a batch. It returns exactly one.
func parseLine(line []byte) (*goodput.Row, *goodput.Batch, error) {
	if bytes.HasPrefix(line, []byte(`{"settled":`)) {
		var end goodput.Batch
		if err := strictly(line, &end); err != nil {
			return nil, nil, err
		}
		return nil, &end, nil
	}
	var r goodput.Row
	if err := strictly(line, &r); err != nil {
		return nil, nil, err
	}
	return &r, nil, checkRow(&r)
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
