package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/costtest"
)

// A stranger's folder may hold what unpacks, or decodes, into far more than it has: measured 2 MB.
func TestCostOfAFolder(t *testing.T) {
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
		cost, err := costtest.Of(c.read)
		if err == nil || !strings.Contains(err.Error(), "congctl did not write it") || cost.Text > costtest.MaxText || cost.Bytes > costtest.MaxBytes {
			t.Errorf("%s: %+v, %v", name, cost, err)
		}
	}
	if err := os.Truncate(filepath.Join(dir, summary), 8<<40); err != nil {
		t.Fatal(err)
	}
	if err := readJSON(filepath.Join(dir, summary), new(any)); err == nil || !strings.Contains(err.Error(), "more than 256 MiB") {
		t.Error(err)
	}
}
