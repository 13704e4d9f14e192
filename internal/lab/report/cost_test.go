package report

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A stranger's folder may hold what unpacks, or decodes, into far more than it has: measured 2 MB.
func TestCostOfAFolder(t *testing.T) {
	const most = 64 << 20
	const cell, summary = "loss=0%/bbr", "summary.json"
	dir := t.TempDir()
	run := runPath(dir, cell, 1) + ".gz"
	if err := os.Mkdir(filepath.Dir(run), 0o700); err != nil {
		t.Fatal(err)
	}
	read := func() error { _, err := ReadRun(dir, cell, 1); return err }
	for name, c := range map[string]struct {
		path, text string
		read       func() error
	}{
		"600 MB of nothing": {run, string(bytes.Repeat(pack(make([]byte, 1<<20)), 600)), read},
		"empty samples":     {run, string(pack([]byte(`{"samples":[` + strings.Repeat("{},", 10_000) + `{}]}`))), read},
		"null samples":      {run, string(pack([]byte(`{"samples":[` + strings.Repeat("null,", 10_000) + `{}]}`))), read},
		"empty rows":        {filepath.Join(dir, summary), `{"rows":[` + strings.Repeat("{},", 1<<20) + `{}]}`, func() error { return readJSON(filepath.Join(dir, summary), new(any)) }},
		"empty results": {filepath.Join(dir, summary), strings.Repeat("{}\n", 1<<20), func() error {
			_, err := readResults(filepath.Join(dir, summary))
			return err
		}},
	} {
		if err := os.WriteFile(c.path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := c.read()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; err == nil || !strings.Contains(err.Error(), "congctl did not write it") || len(err.Error()) > 500 || n > most {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
	if err := os.Truncate(filepath.Join(dir, summary), 8<<40); err != nil {
		t.Fatal(err)
	}
	if err := readJSON(filepath.Join(dir, summary), new(any)); err == nil || !strings.Contains(err.Error(), "more than 256 MiB") {
		t.Error(err)
	}
}
