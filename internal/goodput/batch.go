package goodput

import "github.com/congctl/congctl/internal/goodput/accesslog"

// Batch is what is known when a window is settled: rows, of this window and of earlier ones, and
// counts of the lines, which are its JSON.
type Batch struct {
	Window int64 `json:"settled"` // Unix seconds
	Rows   []Row `json:"-"`
	accesslog.Tally
	BadLine uint64 `json:"bad_lines,omitempty"` // lines that could not be read
	Dropped uint64 `json:"dropped,omitempty"`   // values that did not fit
}
