package report

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
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

// Every cell has a name of its own that leads back to it.
func FuzzRunName(f *testing.F) {
	f.Add("loss=1%,rtt=100ms/bbr", uint64(7))
	f.Add("/..", uint64(0))
	f.Fuzz(func(t *testing.T, cell string, seed uint64) {
		made := RunName(cell, seed)
		if strings.ContainsAny(made, "/\\ *?:\"<>|\x00") {
			t.Errorf("unsafe name %q", made)
		}
		if !strings.Contains(cell, "/") {
			return
		}
		parts := strings.Split(made, ".")
		n := len(parts) - 3 // the arm, before seed and "json"
		back, err := url.PathUnescape(strings.Join(parts[:n], ".") + "/" + parts[n])
		if err != nil || back != cell || parts[n+1] != strconv.FormatUint(seed, 10) {
			t.Errorf("%q -> %q -> %q, %v", cell, made, back, err)
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
	if err := Replace(path, []byte("old")); err != nil {
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

// The same input gives the same bytes, in whatever order the runs came, and so does a
// folder that is read and written again.
func TestWriteSameBytes(t *testing.T) {
	f := folder(t, strings.Replace(sweepText, "0%, 0.1%, 1%, 2%, 4%, 8%, 16%", "0%, 4%, 16%", 1))
	one, two, three := t.TempDir(), t.TempDir(), t.TempDir()
	if err := Write(one, f.Manifest, f.Summary, f.Results, f.Load); err != nil {
		t.Fatal(err)
	}
	mixed := slices.Clone(f.Results)
	slices.Reverse(mixed)
	if err := Write(two, f.Manifest, f.Summary, mixed, f.Load); err != nil {
		t.Fatal(err)
	}
	again, err := Open(one)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(three, again.Manifest, again.Summary, again.Results, f.Load); err != nil {
		t.Fatal(err)
	}
	want := "manifest.json published.json report.html report.md results.jsonl samples.jsonl.gz scenario.yml summary.csv summary.json"
	first := contents(t, one)
	if names := strings.Join(slices.Sorted(maps.Keys(first)), " "); names != want {
		t.Errorf("files %s, want %s", names, want)
	}
	for which, dir := range map[string]string{"mixed": two, "read again": three} {
		if other := contents(t, dir); !maps.Equal(first, other) {
			t.Errorf("%s: other bytes", which)
		}
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[file.Name()] = string(b)
	}
	return out
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty folder: %v", err)
	}
	f := folder(t, smallText)
	if err := WriteManifest(dir, f.Manifest); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "was the run finished?") {
		t.Errorf("unfinished folder: %v", err)
	}
	if err := WriteWall(dir, Wall{TotalS: 4, Runs: []WallRun{{WallS: 2, VirtualS: 30, Packets: 12_000}, {WallS: 2, VirtualS: 10}}}); err != nil {
		t.Fatal(err)
	}
	w, err := ReadWall(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.Words(), "2 runs: 4.00 s wall time, 40.0 s virtual, 10.0 x real time, 3000 packets per real second"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := new(Wall).Words(); got != "" {
		t.Errorf("nothing ran: %q", got)
	}
}

// An invalid cell shows no number, even if somebody left one in its row.
func TestInvalidShowsNoNumber(t *testing.T) {
	f := folder(t, smallText)
	const odd = 123_456_789
	at := slices.IndexFunc(f.Summary.Rows, func(r outcome.Row) bool { return r.Invalid > 0 })
	r := &f.Summary.Rows[at]
	leak := &outcome.Interval{Median: odd, Low: odd, High: odd}
	r.Goodput, r.Steady, r.Completed, r.Retrans, r.QueueP95, r.Jain, r.Wire, r.Policer, r.Ratio = leak, leak, leak, leak, leak, leak, leak, leak, leak
	var table strings.Builder
	if err := Table(&table, &f.Summary, 0); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{"table": table.String()}
	for name, write := range map[string]func(*Folder) ([]byte, error){"md": markdown, "html": htmlPage, "csv": summaryCSV} {
		b, err := write(f)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(b)
	}
	shown := regexp.MustCompile(`\b123(4|\b)|12345678900`) // in bit, Mbit, ms, s, percent
	for name, text := range out {
		if name == "html" { // a coordinate is no number that is shown
			text = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")
		}
		if found := shown.FindString(text); found != "" {
			t.Errorf("%s shows %q", name, found)
		}
		if !strings.Contains(text, "losses were drawn for packets") {
			t.Errorf("%s does not give the reason", name)
		}
	}
	if !strings.Contains(out["table"], "INVALID") || !strings.Contains(out["html"], `<td class="word">INVALID</td>`) {
		t.Error("INVALID does not stand where the number would")
	}
}

// Nothing in the page leads away from it: the browser test sees what is asked for, this
// one what could be.
func TestPageHasNoAddress(t *testing.T) {
	f := folder(t, sweepText)
	page, err := htmlPage(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?i)(?:src|href|action|data|poster)="([^"]*)"`).FindAllSubmatch(page, -1) {
		if to := string(m[1]); !strings.HasPrefix(to, "#") && to != "data:," {
			t.Errorf("leads to %q", to)
		}
	}
	if found := regexp.MustCompile(`(?i)https?:|url\(|@import|<script|<iframe|<object| on[a-z]+=`).Find(page); found != nil {
		t.Errorf("has %q", found)
	}
	f.Summary.Scenario.About = `<script>alert(1)</script>`
	if page, err = htmlPage(f); err != nil || bytes.Contains(page, []byte("<script")) {
		t.Errorf("a scenario's text becomes part of the page: %v", err)
	}
}

// A terminal too narrow for the column still tells where BBR took loss for a policer,
// and of an invalid cell nothing.
func TestPolicerShowsInANarrowTable(t *testing.T) {
	f := folder(t, smallText)
	for i := range f.Summary.Rows {
		if r := &f.Summary.Rows[i]; r.Arm == "cubic" {
			r.Policer = &outcome.Interval{Median: 0.68, Low: 0.61, High: 0.76}
		} else {
			r.Policer = &outcome.Interval{}
		}
	}
	var b strings.Builder
	if err := Table(&b, &f.Summary, 80); err != nil {
		t.Fatal(err)
	}
	want := "BBR's policer detector, share of samples: loss=0%/cubic 68.0 [61.0, 76.0] %,\n    loss=1%/cubic 68.0 [61.0, 76.0] %\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("%s\nwant:\n%s", b.String(), want)
	}
}
