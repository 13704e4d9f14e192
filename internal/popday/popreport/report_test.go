package popreport

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/core/popday"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// TestGolden: the report of imagined runs, in which the lossy get 2.5 times and fibre
// three quarters; small enough to be read.
func TestGolden(t *testing.T) {
	dir, src := folder(t, []uint64{1, 2}, "cubic", "bbr", "loop")
	files, _ := reported(t, dir, src)
	for _, name := range []string{MarkdownFile, "summary.txt"} {
		path := filepath.Join("testdata", name)
		if *rewrite {
			if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if files[name] != string(want) {
			t.Errorf("%s (-rewrite makes the file anew):\n%s", path, files[name])
		}
	}
	for _, want := range []string{"<svg", "in the plan", "Over the day: lossy", "by all-CUBIC", "treatment began", `<td class="yes">yes</td>`} {
		if !strings.Contains(files[PageFile], want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, never := range []string{"<script", "http://", "https://", "NaN", "Inf", dir} {
		if strings.Contains(files[PageFile]+files[JSONFile], never) {
			t.Errorf("the report has %s", never)
		}
	}
}

// TestSameBytes: elsewhere, and made again, the files are the same.
func TestSameBytes(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "cubic", "bbr", "loop")
	first, _ := reported(t, dir, src)
	again, _ := reported(t, dir, src)
	other, src := folder(t, []uint64{1}, "cubic", "bbr", "loop")
	if err := os.Rename(filepath.Join(other, "cubic-1"), filepath.Join(other, "z")); err != nil {
		t.Fatal(err)
	}
	elsewhere, _ := reported(t, other, src)
	for name := range first {
		if first[name] != again[name] || first[name] != elsewhere[name] {
			t.Errorf("%s differs", name)
		}
	}
}

// TestInvalidRun is named, and has no number.
func TestInvalidRun(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "cubic", "bbr", "loop")
	spoil(t, filepath.Join(dir, "bbr-1", FactsFile), func(f map[string]any) { f["busy_share"] = 0.9 })
	files, r := reported(t, dir, src)
	for name, text := range files {
		if !strings.Contains(text, "90 % busy") {
			t.Errorf("%s does not say why", name)
		}
	}
	if strings.Contains(files[MarkdownFile], "| bbr | 1 |") || !strings.Contains(files[MarkdownFile], "| bbr | INVALID | - |") {
		t.Errorf("numbers of an invalid run:\n%s", files[MarkdownFile])
	}
	for _, e := range r.Effects {
		if e.Truth != nil || !finite(e.Goodput.P10.Ratio) {
			t.Errorf("a truth without all-BBR: %+v", e)
		}
	}
}

func spoil(t *testing.T, path string, change func(map[string]any)) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := map[string]any{}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	change(f)
	if b, err = json.Marshal(f); err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFolders: one run alone, runs without the day's text, and what is refused.
func TestFolders(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "cubic", "loop")
	if in, err := Read(t.Context(), filepath.Join(dir, "loop-1"), src); err != nil || len(in.Runs) != 1 || in.Runs[0].Loop == nil || in.Assumed != "" {
		t.Errorf("a single run: %v", err)
	}
	text := filepath.Join(dir, "cubic-1", DayFile)
	if err := os.Remove(text); err != nil {
		t.Fatal(err)
	}
	spoil(t, filepath.Join(dir, "cubic-1", FactsFile), func(f map[string]any) { f["duration_us"] = 3605e6 })
	if in, err := Read(t.Context(), dir, src); err != nil || !strings.Contains(in.Assumed, "comes with congctl") || in.Day.EndUs != 3600e6 {
		t.Errorf("without %s: %v, %+v", DayFile, err, in)
	}
	refused := func(want string) {
		t.Helper()
		if _, err := Read(t.Context(), dir, src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := os.WriteFile(text, []byte("name: other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("about: missing")
	if err := os.WriteFile(filepath.Join(dir, "cubic-1", ResponsesFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("unpack " + ResponsesFile)
	if _, err := Read(t.Context(), t.TempDir(), src); err == nil || !strings.Contains(err.Error(), "no folder in it has") {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestOtherDay: runs of two days are refused.
func TestOtherDay(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "cubic", "loop")
	if err := os.WriteFile(filepath.Join(dir, "loop-1", DayFile), []byte("name: other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), dir, src); err == nil || !strings.Contains(err.Error(), "not the one of the other runs") {
		t.Errorf("%v", err)
	}
}

func TestCells(t *testing.T) {
	for text, want := range map[string]cell{
		"1.20 [1.10, 1.30]":   {"1.20", "[1.10, 1.30]"},
		"11 % [1, 23]":        {"11 %", "[1, 23]"},
		"fibre":               {Text: "fibre"},
		"a [1, 2] and [3, 4]": {Text: "a [1, 2] and [3, 4]"},
	} {
		if got := cellOf(text); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for s, want := range map[int64]string{0: "0s", 9000: "2h30m", 61: "1m1s"} {
		if got := duration(s); got != want {
			t.Errorf("%d: %s", s, got)
		}
	}
	for ratio, want := range map[float64]int{1.04: 0, 1.06: 1, 1.6: 2, 0.9: -1, 0.5: -2} {
		if got := step(ratio); got != want {
			t.Errorf("step of %v: %d, want %d", ratio, got, want)
		}
	}
	if span(nil) != "-" || percent(nil) != "-" || bounds(popday.Bounds{}) != "-" || bounds(popday.Bounds{Ratio: 2}) != "2.00" {
		t.Error("nothing is not a dash")
	}
}
