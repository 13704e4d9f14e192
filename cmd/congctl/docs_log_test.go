package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// journalctl's head of a line, before what congctl wrote.
var journalHead = regexp.MustCompile(`^    [A-Z][a-z]{2} \d\d [0-9:]{8} edge1 congctl\[4100\]: `)

// TestUpPageShowsTheRealLog compares the page's journal with that of the examples'
// controller. What the kernel and the host say first is the imagined host's.
func TestUpPageShowsTheRealLog(t *testing.T) {
	page, err := os.ReadFile("../../docs/verb/up.md")
	if err != nil {
		t.Fatal(err)
	}
	log := docsStore(t, filepath.Join(t.TempDir(), "congctl.db"))
	shown := 0
	for line := range strings.Lines(string(page)) {
		head := journalHead.FindString(line)
		text := strings.TrimPrefix(line, head)
		if head == "" || strings.HasPrefix(text, "kernel ") || strings.HasPrefix(text, "privileges left: ") || strings.HasPrefix(text, "up: ") {
			continue
		}
		shown++
		if !strings.Contains(log, ">"+text) {
			t.Errorf("congctl logs no such line: %s", text)
		}
	}
	if shown < 5 || t.Failed() {
		t.Errorf("%d lines shown; the log is\n%s", shown, log)
	}
}
