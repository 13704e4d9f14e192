package inspect

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFIFOInATree: a FIFO among a host's settings is an error, and not waited for.
func TestFIFOInATree(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "10-x.conf"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Tree(dir).Read("/10-x.conf"); err == nil || !strings.Contains(err.Error(), "not a plain file: a FIFO") {
		t.Error(err)
	}
}
