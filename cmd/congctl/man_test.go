package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

var shipDir = flag.String("ship", "", "folder for man pages and completions, of the day of SOURCE_DATE_EPOCH (tools/release.sh)")

// TestManPages: each verb has a manual page with its help and examples, the same bytes each time. A test
// and no verb, since the writer of pages is of no use to a running congctl.
func TestManPages(t *testing.T) {
	dir := *shipDir
	if dir == "" {
		dir = t.TempDir()
	}
	day, err := time.Parse(time.DateOnly, "2026-01-02")
	check(t, err)
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := time.ParseDuration(epoch + "s")
		check(t, err)
		day = time.Unix(0, 0).UTC().Add(seconds)
	}
	root := newRoot()
	root.DisableAutoGenTag = true
	head := &doc.GenManHeader{Section: "1", Source: "congctl " + version, Manual: "congctl", Date: &day}
	check(t, os.MkdirAll(filepath.Join(dir, "man"), 0o755))
	check(t, doc.GenManTree(root, head, filepath.Join(dir, "man")))
	for _, verb := range allVerbs(root) {
		page, err := os.ReadFile(filepath.Join(dir, "man", strings.ReplaceAll(verb.CommandPath(), " ", "-")+".1"))
		check(t, err)
		for _, part := range []string{".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS"} {
			if !strings.Contains(string(page), part) {
				t.Errorf("the page of %s has no %s", verb.CommandPath(), part)
			}
		}
		if verb.Example != "" && !strings.Contains(string(page), ".SH EXAMPLE") {
			t.Errorf("the page of %s has no example", verb.CommandPath())
		}
	}
	check(t, root.GenBashCompletionFileV2(filepath.Join(dir, "congctl.bash"), true))
	check(t, root.GenZshCompletionFile(filepath.Join(dir, "_congctl")))
	check(t, root.GenFishCompletionFile(filepath.Join(dir, "congctl.fish"), true))
}

func allVerbs(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, verb := range cmd.Commands() {
		if verb.IsAvailableCommand() {
			all = append(all, allVerbs(verb)...)
		}
	}
	return all
}
