package main

import (
	"context"
	"os"
	"os/exec"
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
	ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
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
	browse(t, "pages.js", b.url, "op", openBoard(t, 0, config.Default()).url)
	if want := []string{"stop false by token ann", "resume by token ann", "freeze by token ann", "rollback 40 by token ann"}; !slices.Equal(b.did(), want) {
		t.Errorf("done: %q, want %q", b.did(), want)
	}
}

// TestBrowserMany: 100,000 networks are loaded, sorted, filtered and scrolled, and few rows of them are in the page. Its
// times are in the log of -v.
func TestBrowserMany(t *testing.T) {
	needBrowser(t)
	browse(t, "many.js", openBoard(t, 100_000, config.Default()).url)
}
