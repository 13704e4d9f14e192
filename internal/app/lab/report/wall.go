package report

import (
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

// Sum adds up the runs: virtual seconds for each real one, packets for each real second.
func (w *Wall) Sum() (ratio, packetsPerS float64) {
	var wall, virtual, packets float64
	for _, r := range w.Runs {
		wall += r.WallS
		virtual += r.VirtualS
		packets += float64(r.Packets)
	}
	if wall == 0 {
		return 0, 0
	}
	return virtual / wall, packets / wall
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
