package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForeignOwner is the same with a directory and with a journal of another user.
func TestForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user; minimum kernel 5.3")
	}
	for _, part := range []string{"changes", "changes/000001-host.journal"} {
		top := t.TempDir()
		check(t, os.Chmod(top, 0o755))
		dir, target := filepath.Join(top, "changes"), filepath.Join(top, "target")
		planted(t, dir, target)
		check(t, os.Chown(filepath.Join(top, part), 1000, 1000))
		var out, errs bytes.Buffer
		if code := run([]string{"host", "disable", "--changes", dir}, &out, &errs); code != exitFailed || !strings.Contains(errs.String(), "chown root "+filepath.Join(top, part)) {
			t.Errorf("%s: exit code %d: %s", part, code, &errs)
		}
		if text, err := os.ReadFile(target); err != nil || string(text) != "theirs\n" {
			t.Errorf("%s: the target has %q, %v", part, text, err)
		}
	}
}
