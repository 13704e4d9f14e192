package popworld

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/popday"
)

// TestPackedDay: what the guest packs is the run's folder; a run without congctl has no store.
func TestPackedDay(t *testing.T) {
	report, err := pack(&Result{Facts: Facts{Facts: popday.Facts{Day: "demo"}}, Responses: []byte("{}\n"), Log: []byte("up\n")})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "loop-1")
	if err := Unpack(dir, report); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		b, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		files[e.Name()] = string(b)
	}
	z, err := gzip.NewReader(strings.NewReader(files[popday.ResponsesFile]))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := io.ReadAll(z)
	if len(files) != 3 || !strings.Contains(files[popday.FactsFile], `"day": "demo"`) || string(lines) != "{}\n" || err != nil || files[popday.LogFile] != "up\n" {
		t.Errorf("%q, responses %q, %v", files, lines, err)
	}
	if err := Unpack(dir, bytes.Repeat([]byte("x"), 100)); err == nil || !strings.Contains(err.Error(), "unpack day: ") {
		t.Errorf("nonsense: %v", err)
	}
}
