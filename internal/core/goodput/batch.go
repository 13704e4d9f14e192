package goodput

import "github.com/congctl/congctl/internal/core/accesslog"

// Batch is what is known when a window is settled: rows, of this window and of earlier
// ones, and what became of the lines.
type Batch struct {
	Window  int64 // settled, Unix seconds
	Rows    []Row
	Tally   accesslog.Tally
	BadLine uint64 // lines that could not be read
	Dropped uint64 // values that found no room
}
