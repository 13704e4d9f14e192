package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/linux/plainfile"
)

// packFrom is the size, in bytes, from which a run is compressed: smaller ones are more
// useful as text, and 1 MiB is where an editor becomes slow.
const packFrom = 1 << 20

// RunName is the name of a run's file, "loss=1%25,rtt=100ms.bbr.7.json" of cell
// "loss=1%,rtt=100ms/bbr": what is left of the last "/", the arm, the seed. Bytes that
// a file system or a shell could mistake are percent-encoded, dots of the arm too.
func RunName(cell string, seed uint64) string {
	at := strings.LastIndexByte(cell, '/')
	group, arm := cell[:max(at, 0)], cell[at+1:]
	return encode(group, "=,_-+.") + "." + encode(arm, "=,_-+") + "." + strconv.FormatUint(seed, 10) + ".json"
}

func encode(s, plain string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.IndexByte(plain, c) >= 0 && (c != '.' || i > 0) { // no hidden files
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func runPath(dir, cell string, seed uint64) string {
	return filepath.Join(dir, "runs", RunName(cell, seed))
}

// WriteRun keeps a finished run, whole or not at all.
func WriteRun(dir string, r *outcome.Run) error {
	if err := os.MkdirAll(filepath.Join(dir, "runs"), 0o755); err != nil {
		return err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode run of %s, seed %d: %w", r.Cell, r.Seed, err)
	}
	path, other := runPath(dir, r.Cell, r.Seed), runPath(dir, r.Cell, r.Seed)+".gz"
	if b = append(b, '\n'); len(b) >= packFrom {
		path, other, b = other, path, pack(b)
	}
	if err := Replace(path, b); err != nil {
		return err
	}
	if err := os.Remove(other); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ReadRun returns a run that WriteRun kept; fs.ErrNotExist if there is none.
func ReadRun(dir, cell string, seed uint64) (*outcome.Run, error) {
	path := runPath(dir, cell, seed)
	b, err := plainfile.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		path += ".gz"
		if b, err = plainfile.Read(path, maxFile); err == nil {
			b, err = unpackAll(b)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	r := new(outcome.Run)
	if err := decode(path, b, r); err != nil {
		return nil, err
	}
	if r.Cell != cell || r.Seed != seed {
		return nil, fmt.Errorf("read %s: holds cell %q, seed %d: the file was renamed", path, r.Cell, r.Seed)
	}
	return r, nil
}

// maxRatio: samples of an idle flow repeat, up to 80 times; what is made to be large repeats 1,000 times.
const maxRatio = 256

func unpackAll(b []byte) ([]byte, error) {
	r, err := Unpack(bytes.NewReader(b), maxRatio)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Wall is what a run cost in real time. It has its own file, the only one that differs
// between two runs of the same thing.
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

// Words returns what the whole run cost, concurrent machines counted once; "" if nothing
// ran.
func (w *Wall) Words() string {
	if w.TotalS <= 0 {
		return ""
	}
	var virtual, packets float64
	for _, r := range w.Runs {
		virtual += r.VirtualS
		packets += float64(r.Packets)
	}
	return fmt.Sprintf("%s: %s s wall time, %s s virtual, %s x real time, %s packets per real second", answer.Count(len(w.Runs), "run"),
		number(w.TotalS), number(virtual), number(virtual/w.TotalS), number(packets/w.TotalS))
}

// WriteWall keeps it beside the results.
func WriteWall(dir string, w Wall) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, "wall.json"), w)
}

// ReadWall returns what WriteWall kept; fs.ErrNotExist if there is nothing.
func ReadWall(dir string) (*Wall, error) {
	w := new(Wall)
	return w, readJSON(filepath.Join(dir, "wall.json"), w)
}
