package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/core/outcome"
)

// packFrom is the size, in bytes, from which a run is compressed: smaller ones are
// worth more as text, and 1 MiB is where an editor becomes slow.
const packFrom = 1 << 20

// RunName is the name of a run's file, "loss=1%25,rtt=100ms.bbr.7.json" of cell
// "loss=1%,rtt=100ms/bbr": what is left of the last "/", the arm, the seed. Bytes that
// a file system or a shell could mistake are percent-encoded, dots of the arm too.
func RunName(cell string, seed uint64) string {
	at := strings.LastIndexByte(cell, '/')
	group, arm := cell[:max(at, 0)], cell[at+1:]
	return encode(group, "=,_-+.") + "." + encode(arm, "=,_-+") + "." + strconv.FormatUint(seed, 10) + ".json"
}

// ParseRunName is the way back from RunName.
func ParseRunName(name string) (cell string, seed uint64, err error) {
	stem, ok := strings.CutSuffix(strings.TrimSuffix(name, ".gz"), ".json")
	parts := strings.Split(stem, ".")
	n := len(parts)
	if !ok || n < 3 {
		return "", 0, fmt.Errorf("run %q: want GROUP.ARM.SEED.json", name)
	}
	if seed, err = strconv.ParseUint(parts[n-1], 10, 64); err != nil {
		return "", 0, fmt.Errorf("run %q: seed: %w", name, err)
	}
	if cell, err = url.PathUnescape(strings.Join(parts[:n-2], ".") + "/" + parts[n-2]); err != nil {
		return "", 0, fmt.Errorf("run %q: %w", name, err)
	}
	if RunName(cell, seed) != strings.TrimSuffix(name, ".gz") {
		return "", 0, fmt.Errorf("run %q: is not how cell %q is named", name, cell)
	}
	return cell, seed, nil
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
	if err := replaceBytes(path, b); err != nil {
		return err
	}
	if err := os.Remove(other); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ReadRun gives a run that WriteRun kept; fs.ErrNotExist if there is none.
func ReadRun(dir, cell string, seed uint64) (*outcome.Run, error) {
	path := runPath(dir, cell, seed)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		path += ".gz"
		if b, err = os.ReadFile(path); err == nil {
			b, err = unpack(b)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	r := new(outcome.Run)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	if r.Cell != cell || r.Seed != seed {
		return nil, fmt.Errorf("read %s: holds cell %q, seed %d: the file was renamed", path, r.Cell, r.Seed)
	}
	return r, nil
}
