package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/loop/config"
)

func needBrowser(t *testing.T) {
	t.Helper()
	if os.Getenv("CONGCTL_BROWSER") == "" {
		t.Skip("needs Node, Chromium and npm ci in web: tools/check.sh browser sets CONGCTL_BROWSER; no minimum kernel")
	}
}

// browse runs a script of web/test in a real browser. CONGCTL_SHOTS names a folder for pictures of the pages.
func browse(t *testing.T, script string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{"test/" + script}, append(args, os.Getenv("CONGCTL_SHOTS"))...)...)
	cmd.Dir = "../../web"
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	check(t, err)
}

// TestBrowserPages: each page in both themes and widths, and each action with and without a token.
func TestBrowserPages(t *testing.T) {
	needBrowser(t)
	b := openBoard(t, 5000, config.Default())
	browse(t, "pages.js", b.url, "short", "op", openBoard(t, 0, config.Default()).url)
	var want []string
	for _, act := range []string{"stop false", "resume", "freeze", "rollback 40", "stop true", "resume", "abort", "unfreeze", "push 15 against 42", "expire"} {
		want = append(want, act+" by token eve")
	}
	if !slices.Equal(b.did(), want) {
		t.Errorf("done: %q, want %q", b.did(), want)
	}
}

// TestBrowserLive: the page follows what changes, also where its stream is cut and comes back.
func TestBrowserLive(t *testing.T) {
	needBrowser(t)
	browse(t, "live.js", openBoard(t, 500, config.Default()).url, "op")
}

// TestBrowserLab: what the verbs of the laboratory write is read, laid side by side and replayed.
func TestBrowserLab(t *testing.T) {
	needBrowser(t)
	browse(t, "lab.js", openBoard(t, 10, config.Default()).url, labReports(t))
}

// labReports makes a folder with a report of each kind. Those of testdata/lab were measured, on Linux 6.1 in QEMU:
//
//	congctl lab run quick --seeds 2 -o jsonl > summary.json
//	congctl lab run quick --seeds 2 --seed 9 -o jsonl > summary-9.json
//	congctl lab pop demo --policy cubic,loop --length 1h --seed 7 -o jsonl > report.json
func labReports(t *testing.T) string {
	out := t.TempDir()
	check(t, os.CopyFS(out, os.DirFS("testdata/lab")))
	for name, args := range map[string][]string{
		"city.json":   {"simulate", "--synthetic", "--hours", "6", "--prefixes", "300", "-o", "json"},
		"other.json":  {"simulate", "--synthetic", "--hours", "6", "--prefixes", "300", "--world", "mild", "-o", "json"},
		"replay.json": {"simulate", "--history", someWindows(t), "--policy", someRules(t), "-o", "json"},
	} {
		check(t, os.WriteFile(filepath.Join(out, name), answered(t, args...), 0o600))
	}
	return out
}

func answered(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, said bytes.Buffer
	if code := run(args, &out, &said); code != exitOK {
		t.Fatalf("%q: exit code %d: %s", args, code, &said)
	}
	return out.Bytes()
}

// TestBrowserMany: 100,000 networks are loaded, sorted, filtered and scrolled, and few rows of them are in the page. Its
// times are in the log of -v.
func TestBrowserMany(t *testing.T) {
	needBrowser(t)
	browse(t, "many.js", openBoard(t, 100_000, config.Default()).url)
}

// someWindows is a history in which one network of eight is slow from its third hour on.
func someWindows(t *testing.T) string {
	var b bytes.Buffer
	for w := range 48 {
		for n := range 8 {
			rate := 1_000_000 + 100_000*n
			if n == 0 && w > 12 {
				rate = 90_000
			}
			fmt.Fprintf(&b, `{"window_start":%d,"pop":"ams","prefix":"198.18.%d.0/24","n":9,"delivery_rate_p50_bytes_per_s":%d}`+"\n", 1795176000+300*w, n, rate)
		}
	}
	return written(t, "windows.jsonl", b.String())
}

func someRules(t *testing.T) string {
	return written(t, "p.yml", "min_samples: 4\nmin_ranked: 5\nmin_known: 6\n")
}

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
