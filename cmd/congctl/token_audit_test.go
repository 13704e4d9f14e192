package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/token"
	"github.com/congctl/congctl/internal/loop/control"
)

// TestTokenAudit: each token that came or went is told once, also over a restart, one that was replaced twice, and nothing
// of it is lost while no PoP is here.
func TestTokenAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	file := func() *token.File { return &token.File{Path: path, Read: readSecret} }
	var told []string
	here := true
	look := func(want ...string) { // as a process that has just started
		t.Helper()
		told = nil
		check(t, tokenAudit{file(), func(_ context.Context, a control.Act) bool {
			if here {
				told = append(told, strings.TrimSuffix(a.Name+" "+a.Arg, ","))
			}
			return here
		}}.look(t.Context()))
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	}
	add := func(name, pop string) {
		_, err := file().Add(token.Token{Name: name, Role: mtls.Viewer, PoP: pop, Expires: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC).Unix()})
		check(t, err)
	}
	look()
	add("board", "chi")
	here = false
	look()
	here = true
	look("token add board, viewer of chi until 2027-01-02T03:04:05Z")
	look()
	add("deploy", "")
	check(t, file().Remove("board"))
	add("board", "chi") // another secret, all else alike
	look("token remove board", "token add deploy, viewer of all PoPs until 2027-01-02T03:04:05Z", "token add board, viewer of chi until 2027-01-02T03:04:05Z")
	check(t, os.Remove(path))
	look("token remove deploy", "token remove board")
	look()
}
