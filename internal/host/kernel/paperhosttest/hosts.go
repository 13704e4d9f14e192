package paperhosttest

import (
	"embed"
	"io/fs"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/host/advise"
)

//go:embed hosts/*.host
var hosts embed.FS

// Names lists the hosts that tests share, by name: "debian12", "container".
func Names() (names []string) {
	files, _ := fs.Glob(hosts, "hosts/*.host")
	for _, f := range files {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(f, "hosts/"), ".host"))
	}
	return names
}

// Load returns the facts of one of Names.
func Load(t testing.TB, name string) advise.Facts {
	t.Helper()
	h, err := Parse(text(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return h.Read()
}

func text(t testing.TB, name string) string {
	t.Helper()
	b, err := hosts.ReadFile("hosts/" + name + ".host")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
