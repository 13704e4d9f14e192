package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestExamplesOfRoot is TestExamples of the pages that have a block "console root".
func TestExamplesOfRoot(t *testing.T) {
	needRoot(t)
	db := docsDB(t)
	for _, page := range examplePages(t) {
		src, err := os.ReadFile(filepath.Join(docsRoot, page))
		check(t, err)
		if bytes.Contains(src, []byte("\n```console root\n")) {
			t.Run(page, func(t *testing.T) { runPage(t, page, db) })
		}
	}
}
