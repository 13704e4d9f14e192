package report

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/core/outcome"
)

func TestRunNames(t *testing.T) {
	for _, c := range []struct {
		cell string
		seed uint64
		want string
	}{
		{"loss=1%,rtt=100ms/bbr", 7, "loss=1%25,rtt=100ms.bbr.7.json"},
		{"loss=0.1%/fq+bbr", 1, "loss=0.1%25.fq+bbr.1.json"},
		{"a/b.c/d.e f", 18446744073709551615, "a%2Fb.c.d%2Ee%20f.18446744073709551615.json"},
		{"../../etc/passwd", 0, "%2E.%2F..%2Fetc.passwd.0.json"},
		{"/cubic", 2, ".cubic.2.json"},
	} {
		if got := RunName(c.cell, c.seed); got != c.want {
			t.Errorf("RunName(%q) = %q, want %q", c.cell, got, c.want)
		}
	}
}

// Every cell has a name of its own that leads back to it, and no name leads elsewhere.
func FuzzRunName(f *testing.F) {
	f.Add("loss=1%,rtt=100ms/bbr", uint64(7), "loss=1%25.bbr.7.json.gz")
	f.Add("/..", uint64(0), "%2e.x.1.json")
	f.Fuzz(func(t *testing.T, cell string, seed uint64, name string) {
		made := RunName(cell, seed)
		if strings.ContainsAny(made, "/\\ *?:\"<>|\x00") {
			t.Errorf("unsafe name %q", made)
		}
		back, s, err := ParseRunName(made)
		if at := strings.IndexByte(cell, '/'); at >= 0 && (err != nil || back != cell || s != seed) {
			t.Errorf("%q -> %q -> %q, seed %d, %v", cell, made, back, s, err)
		}
		if c, s, err := ParseRunName(name); err == nil && RunName(c, s) != strings.TrimSuffix(name, ".gz") {
			t.Errorf("%q read as %q, seed %d", name, c, s)
		}
	})
}

func TestRunsSmallAndBig(t *testing.T) {
	dir := t.TempDir()
	r := &outcome.Run{Schema: 1, Cell: "loss=1%/bbr", Seed: 3}
	if _, err := ReadRun(dir, r.Cell, r.Seed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no run: %v", err)
	}
	for _, samples := range []int{10, 10_000, 2} { // small, big, small again
		r.Samples = make([]outcome.Sample, samples)
		if err := WriteRun(dir, r); err != nil {
			t.Fatal(err)
		}
		got, err := ReadRun(dir, r.Cell, r.Seed)
		if err != nil || len(got.Samples) != samples {
			t.Fatalf("%d samples: %v", samples, err)
		}
		files, _ := os.ReadDir(filepath.Join(dir, "runs"))
		if len(files) != 1 || strings.HasSuffix(files[0].Name(), ".gz") != (samples > 1000) {
			t.Errorf("%d samples: %v", samples, files)
		}
	}
	from, to := filepath.Join(dir, "runs", RunName(r.Cell, 3)), filepath.Join(dir, "runs", RunName(r.Cell, 4))
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRun(dir, r.Cell, 4); err == nil || !strings.Contains(err.Error(), "renamed") {
		t.Errorf("renamed run: %v", err)
	}
}

func TestReplaceIsWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := replaceBytes(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := writeJSON(path, func() {}); err == nil {
		t.Error("encoded a function")
	}
	if err := replace(path, func(w io.Writer) error {
		w.Write([]byte("half"))
		return broken
	}); err != broken {
		t.Errorf("error %v", err)
	}
	if b, _ := os.ReadFile(path); !bytes.Equal(b, []byte("old")) {
		t.Errorf("content %q", b)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}
