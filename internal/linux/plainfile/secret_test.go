package plainfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModes: which of the three readings takes which mode, also behind a link.
func TestModes(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	for mode, c := range map[os.FileMode]struct{ secret, guarded bool }{
		0o600: {true, true}, 0o400: {true, true}, 0o700: {true, true}, 0o640: {false, true}, 0o604: {false, true}, 0o644: {false, true},
		0o620: {false, false}, 0o602: {false, false}, 0o666: {false, false}, 0o610: {false, true},
	} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{file, link} {
			b, err := ReadSecret(name, 10)
			if (err == nil) != c.secret || (string(b) == "text") != c.secret || err != nil && !strings.Contains(err.Error(), "chmod 600 "+name) {
				t.Errorf("secret of mode %o: %q, %v", mode, b, err)
			}
			b, err = ReadGuarded(name, 10)
			if (err == nil) != c.guarded || (string(b) == "text") != c.guarded || err != nil && !strings.Contains(err.Error(), "chmod go-w "+name) {
				t.Errorf("guarded of mode %o: %q, %v", mode, b, err)
			}
			if b, exposed, err := ReadExposed(name, 10); err != nil || string(b) != "text" || (exposed == nil) != c.secret {
				t.Errorf("mode %o: %q, exposed %v, %v", mode, b, exposed, err)
			}
		}
	}
	if _, err := ReadSecret(file, 3); err == nil {
		t.Error("longer than its limit")
	}
}
