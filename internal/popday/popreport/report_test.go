package popreport

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/popday"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// TestGolden: the report of imagined runs, in which the lossy get 2.5 times and fibre
// three quarters; small enough to be read.
func TestGolden(t *testing.T) {
	dir, src := folder(t, []uint64{1, 2}, "cubic", "bbr", "loop")
	_, r := reported(t, dir, src)
	promote(r, "lossy")
	files := written(t, dir, r)
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
	for _, want := range []string{"<svg", "in the plan", "Before and after", "over all CUBIC", "lossy (6), all BBR: 6.3 Mbit/s", `<td class="yes">yes</td>`} {
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

// promote has the loops promote a class where they only tried it.
func promote(r *popday.Report, class string) {
	for i := range r.Stories {
		for k := range r.Stories[i].Spans {
			if sp := &r.Stories[i].Spans[k]; sp.Class == class {
				sp.State = "promoted"
			}
		}
	}
	for i := range r.Tellings {
		if t := &r.Tellings[i]; t.Class == class && t.Kind == popday.Slow {
			t.Kind = popday.Moved
		}
	}
}

// TestRulesSideBySide: each rule of selection has its estimates, its answers and its line.
func TestRulesSideBySide(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "cubic", "bbr", "loop", "benefit", "switch")
	files, _ := reported(t, dir, src)
	for name, wants := range map[string][]string{
		MarkdownFile: {"| loop: lossy | 3 |", "| benefit: lossy | 3 |", "| yes | benefit | networks promoted | slow |", "| rule: 1/64 resent | 9 | 3 | 9 | 3 | 33.3 % | 100.0 % |",
			"| loop | 9 | 3 | 4 | 3 | 75.0 % | 100.0 % |", "| benefit | 9 | 3 | 3 | 3 | 100.0 % | 100.0 % | 0.0 % | none |", "### Networks in the plan, benefit, seed 1"},
		"summary.txt": {"\ncongctl  ", "\ncongctl, benefit  "},
	} {
		for _, want := range wants {
			if !strings.Contains(files[name], want) {
				t.Errorf("%s lacks %q:\n%s", name, want, files[name])
			}
		}
	}
}

// TestScreen: what a newcomer reads is at most 15 lines of at most 120 characters.
func TestScreen(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "summary.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) > 15 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if len(l) > 120 {
			t.Errorf("%d characters: %s", len(l), l)
		}
	}
}

// TestDrawingIsAFileOfItsOwn: well-formed, with its own style, and without a reference.
func TestDrawingIsAFileOfItsOwn(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "cubic", "bbr", "loop")
	_, r := reported(t, dir, src)
	promote(r, "lossy")
	drawing := string(Drawing(r))
	d := xml.NewDecoder(strings.NewReader(drawing))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasPrefix(drawing, `<svg xmlns="http://www.w3.org/2000/svg"`) || !strings.Contains(drawing, "prefers-color-scheme: dark") || strings.Contains(drawing, "href") {
		t.Errorf("%.300s", drawing)
	}
	if r.Tellings = nil; Drawing(r) != nil {
		t.Error("drew nothing")
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

// TestInvalidDefault: without a run on the default there are ratios of nothing, and no story.
func TestInvalidDefault(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "cubic", "bbr", "loop")
	spoil(t, filepath.Join(dir, "cubic-1", popday.FactsFile), func(f map[string]any) { f["busy_share"] = 0.9 })
	files, r := reported(t, dir, src)
	if !strings.Contains(files[MarkdownFile], "| cubic | INVALID | - |") || len(r.Tellings) > 0 || r.Comparison.Reference != "" {
		t.Errorf("tellings %+v:\n%s", r.Tellings, files[MarkdownFile])
	}
	for _, p := range r.Comparison.Policies {
		if p.Large.P10.Ratio != nil || p.Small.Ratio != nil || p.GainShare != nil {
			t.Errorf("a ratio to an invalid run: %+v", p)
		}
	}
}

// TestInvalidOfTwo: where a seed lacks a policy, the story is of the other seed.
func TestInvalidOfTwo(t *testing.T) {
	for _, run := range []string{"cubic-2", "bbr-2", "loop-2"} {
		dir, src := folder(t, []uint64{1, 2}, "cubic", "bbr", "loop")
		spoil(t, filepath.Join(dir, run, popday.FactsFile), func(f map[string]any) { f["busy_share"] = 0.9 })
		_, r := reported(t, dir, src)
		promote(r, "lossy")
		files := written(t, dir, r)
		if len(r.Tellings) == 0 {
			t.Errorf("%s: no tellings", run)
		}
		for _, x := range r.Tellings {
			if x.Seed != 1 || len(x.Under) != 3 {
				t.Errorf("%s: %+v", run, x)
			}
		}
		for name, text := range files {
			for _, never := range []string{" 0.0 Mbit/s", "Inf", "NaN"} {
				if strings.Contains(text, never) {
					t.Errorf("%s: %s has %s", run, name, never)
				}
			}
		}
		if want := "and makes the 3 that can be compared"; strings.Contains(files[MarkdownFile], want) != (run != "loop-2") {
			t.Errorf("%s: %s", run, headline(r))
		}
	}
}

// TestMovedUnmeasured: a network that moved with too few responses to compare has no figure.
func TestMovedUnmeasured(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "cubic", "bbr", "loop")
	_, r := reported(t, dir, src)
	promote(r, "lossy")
	r.Tellings = slices.DeleteFunc(r.Tellings, func(x popday.Telling) bool { return x.Class == "lossy" })
	files := written(t, dir, r)
	for name, want := range map[string]string{"summary.txt": "moved to BBR: -\n", MarkdownFile: "| moved to BBR | - | - | - |"} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q:\n%s", name, want, files[name])
		}
	}
	if h := headline(r); !strings.HasPrefix(h, "congctl moves 3 of 9 client networks to BBR; it resends") {
		t.Error(h)
	}
}

// TestReleased: a network that left the plan as it became fast is not told as one without gain.
func TestReleased(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "cubic", "bbr", "loop")
	_, r := reported(t, dir, src)
	for k := range r.Stories[0].Spans {
		if sp := &r.Stories[0].Spans[k]; sp.Class == "slow" {
			sp.End = "released"
		}
	}
	if text := written(t, dir, r)["summary.txt"]; !strings.Contains(text, "tried, recovered by itself") || strings.Contains(text, "no gain") {
		t.Error(text)
	}
}

// TestAnotherServersClients are told apart from the edge's client networks.
func TestAnotherServersClients(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "cubic", "bbr", "loop")
	_, r := reported(t, dir, src)
	told := func() string { return written(t, dir, r)["summary.txt"] + headline(r) }
	behind := func(class string) {
		for i := range r.Mix {
			if r.Mix[i].Name == class {
				r.Mix[i].Behind = "slow"
			}
		}
	}
	behind("fibre")
	text := told()
	for _, want := range []string{"imagined: 6 client networks and 3 of another server, 4h", "BBR for all slows down another server's clients: fibre (3) -", "and slows down 3 networks of another server's clients."} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	for i := range r.Tellings {
		if x := &r.Tellings[i]; x.Class == "small-window" {
			x.Kind = popday.Harmed
		}
	}
	for i := range r.Each {
		if x := &r.Each[i]; x.Class == "small-window" && x.Policy == "bbr" {
			x.Verdict = popday.Harmed
		}
	}
	r.Policy("bbr").Harmed++
	text = told()
	for _, want := range []string{"BBR for all slows down: small-window ", ", and another server's clients: fibre (3) -", "slows down 1, and 3 networks of another server's clients."} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
}

// TestInvalidRun is named, and has no number.
func TestInvalidRun(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "cubic", "bbr", "loop")
	spoil(t, filepath.Join(dir, "bbr-1", popday.FactsFile), func(f map[string]any) { f["busy_share"] = 0.9 })
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
	text := filepath.Join(dir, "cubic-1", popday.DayFile)
	if err := os.Remove(text); err != nil {
		t.Fatal(err)
	}
	spoil(t, filepath.Join(dir, "cubic-1", popday.FactsFile), func(f map[string]any) { f["duration_us"] = 3605e6 })
	if in, err := Read(t.Context(), dir, src); err != nil || !strings.Contains(in.Assumed, "comes with congctl") || in.Day.EndUs != 3600e6 {
		t.Errorf("without %s: %v, %+v", popday.DayFile, err, in)
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
	if err := errors.Join(os.Remove(text), os.WriteFile(filepath.Join(dir, "cubic-1", popday.ResponsesFile), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	refused("unpack " + popday.ResponsesFile)
	if _, err := Read(t.Context(), t.TempDir(), src); err == nil || !strings.Contains(err.Error(), "no folder in it has") {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestOtherDay: runs of two days are refused.
func TestOtherDay(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "cubic", "loop")
	if err := os.WriteFile(filepath.Join(dir, "loop-1", popday.DayFile), []byte("name: other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), dir, src); err == nil || !strings.Contains(err.Error(), "differs from that of the other runs") {
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
	if span(nil) != "-" || percent(nil) != "-" || bounds(popday.Bounds{}) != "-" || bounds(popday.Bounds{Ratio: 2}) != "2.00" {
		t.Error("nothing is not a dash")
	}
}

// TestForeignText: what a day's author wrote makes no element of the page or of the text.
func TestForeignText(t *testing.T) {
	const evil = "<img src=x onerror=alert(1)>"
	dir, src := folder(t, []uint64{1}, "cubic", "bbr", "loop")
	_, r := reported(t, dir, src)
	r.Day, r.About, r.Notes = evil, evil, evil
	for i := range r.Mix {
		r.Mix[i].Name = evil
	}
	files := written(t, dir, r)
	for _, name := range []string{MarkdownFile, PageFile} {
		if strings.Contains(files[name], "<img") || !strings.Contains(files[name], "&lt;img") {
			t.Errorf("%s has an element of the author's", name)
		}
	}
}
