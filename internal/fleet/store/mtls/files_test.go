package mtls_test

import (
	"os"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

// TestModes: a key that others may read is refused, and what others may write.
func TestModes(t *testing.T) {
	a := mtlstest.New(t)
	for _, c := range []struct {
		name string
		of   func(mtls.Files) string
		mode os.FileMode
		want string
	}{
		{"key", func(f mtls.Files) string { return f.Key }, 0o644, "others could read it"},
		{"key of a group", func(f mtls.Files) string { return f.Key }, 0o640, "others could read it"},
		{"authority", func(f mtls.Files) string { return f.CA }, 0o666, "others could change it"},
		{"authority of a group", func(f mtls.Files) string { return f.CA }, 0o664, "others could change it"},
		{"authority for all to read", func(f mtls.Files) string { return f.CA }, 0o644, ""},
		{"certificate", func(f mtls.Files) string { return f.Cert }, 0o622, "others could change it"},
	} {
		f := a.Issue(mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "edge1"})
		if err := os.Chmod(c.of(f), c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := mtls.Open(f, func(error) {})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "chmod ")) {
			t.Errorf("%s of mode %o: %v", c.name, c.mode, err)
		}
		if err := os.Chmod(c.of(f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
