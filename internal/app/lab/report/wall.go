package report

import (
	"fmt"
	"os"
	"path/filepath"
)

// Wall is what a run cost in real time. It stands in a file of its own, the only one
// that differs between two runs of the same thing.
type Wall struct {
	TotalS float64   `json:"total_s"` // from the first boot to the last result
	Runs   []WallRun `json:"runs"`
}

// WallRun is one run's cost.
type WallRun struct {
	Cell     string  `json:"cell"`
	Seed     uint64  `json:"seed"`
	WallS    float64 `json:"wall_s"`
	VirtualS float64 `json:"virtual_s"` // of the world's own clock
	Packets  uint64  `json:"packets"`   // sent by the sender's hop
}

// Words says what the whole run cost, machines side by side counted once; "" if nothing ran.
func (w *Wall) Words() string {
	if w.TotalS <= 0 {
		return ""
	}
	var virtual, packets float64
	for _, r := range w.Runs {
		virtual += r.VirtualS
		packets += float64(r.Packets)
	}
	return fmt.Sprintf("%d %s: %s s wall time, %s s virtual, %s x real time, %s packets per real second", len(w.Runs), plural(len(w.Runs), "run"),
		number(w.TotalS), number(virtual), number(virtual/w.TotalS), number(packets/w.TotalS))
}

// WriteWall keeps it beside the results.
func WriteWall(dir string, w Wall) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, "wall.json"), w)
}

// ReadWall gives what WriteWall kept; fs.ErrNotExist if there is nothing.
func ReadWall(dir string) (*Wall, error) {
	w := new(Wall)
	return w, readJSON(filepath.Join(dir, "wall.json"), w)
}
