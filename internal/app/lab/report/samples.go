package report

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"

	"github.com/congctl/congctl/internal/core/outcome"
)

// sampleLine is a sample that says where it is from.
type sampleLine struct {
	Cell string `json:"cell"`
	Seed uint64 `json:"seed"`
	outcome.Sample
}

// sampleLines are all samples of valid runs, one a line: what a notebook reads at once.
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
