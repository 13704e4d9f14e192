package plainfile

import (
	"os"
	"path/filepath"
	"testing"
)

// TestModesOfAnothersSecret: which modes of another user's file, in the group root, ReadSecret takes.
func TestModesOfAnothersSecret(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives a file to another user; any kernel")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]bool{0o440: true, 0o640: true, 0o644: false, 0o660: false} {
		if err := os.Chown(file, 65534, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSecret(file, 10); (err == nil) != want {
			t.Errorf("another's file of mode %o: %v", mode, err)
		}
	}
}
