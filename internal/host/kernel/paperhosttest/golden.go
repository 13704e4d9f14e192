// Package paperhosttest compares what is said of every host on paper with what a person
// has checked once.
//
// It is not for programs: only tests import it.
//
// Its trap: -rewrite takes whatever is said for right. The diff is the review.
package paperhosttest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/core/advise"
	"github.com/congctl/congctl/internal/kernel/host/paperhost"
)

var rewrite = flag.Bool("rewrite", false, "write what is said of every host into testdata")

// Golden compares each host's text with testdata/NAME.ext, which must be there for every
// host and for no other.
func Golden(t *testing.T, ext string, text func(advise.Facts) string) {
	t.Helper()
	unread, err := filepath.Glob("testdata/*" + ext)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, path := range unread {
		left[path] = true
	}
	for _, name := range paperhost.Names() {
		path := filepath.Join("testdata", name+ext)
		delete(left, path)
		t.Run(name, func(t *testing.T) { golden(t, path, text(Load(t, name))) })
	}
	for path := range left {
		t.Errorf("%s is of no host", path)
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if i, was, is := difference(string(want), got); i > 0 {
		t.Errorf("%s:%d:\n- %s\n+ %s", path, i, was, is)
	}
}

// difference is the first line, from 1, in which two texts differ, 0 for none.
func difference(want, got string) (line int, was, is string) {
	if want == got {
		return 0, "", ""
	}
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for line < min(len(a), len(b)) && a[line] == b[line] {
		line++
	}
	at := func(lines []string) string {
		return strings.Join(lines[min(line, len(lines)):min(line+1, len(lines))], "")
	}
	return line + 1, at(a), at(b)
}

// Load gives the facts of one host.
func Load(t *testing.T, name string) advise.Facts {
	t.Helper()
	h, err := paperhost.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return h.Read()
}
