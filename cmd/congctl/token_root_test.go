package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestTokensOfAnotherUser: what root adds for a controller with a user of its own is that user's, whose service could not read
// it otherwise; and a link that the user left there leads root nowhere.
func TestTokensOfAnotherUser(t *testing.T) {
	e := newEdge(t, quickSettings())
	state := filepath.Join(e.dir, "state")
	check(t, os.Chmod(e.dir, 0o755))
	check(t, os.Mkdir(state, 0o700))
	check(t, os.Chown(state, 65534, 65534))
	if _, errs, code := e.verb("token", "add", "board", "--role", "viewer"); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var st syscall.Stat_t
	check(t, syscall.Stat(filepath.Join(state, "tokens"), &st))
	if st.Uid != 65534 || st.Mode&0o777 != 0o600 {
		t.Errorf("tokens are of user %d, mode %o", st.Uid, st.Mode&0o777)
	}
	check(t, os.Remove(filepath.Join(state, "tokens")))
	aim := filepath.Join(t.TempDir(), "root's")
	check(t, os.Symlink(aim, filepath.Join(state, "tokens")))
	_, _, _ = e.verb("token", "add", "board", "--role", "viewer")
	if _, err := os.Lstat(aim); err == nil {
		t.Error("root wrote through a link")
	}
}
