package paperhosttest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/host/advise"
)

var rewrite = flag.Bool("rewrite-hosts", false, "write what is said of every host into testdata")

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
	for _, name := range Names() {
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
	if got != string(want) {
		a, b, i := strings.Split(string(want)+"\n", "\n"), strings.Split(got+"\n", "\n"), 0
		for i < min(len(a), len(b))-1 && a[i] == b[i] {
			i++
		}
		t.Errorf("%s:%d:\n- %s\n+ %s", path, i+1, a[i], b[i])
	}
}
