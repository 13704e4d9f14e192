package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/strict"
)

// TestReadPartly: a fault elsewhere does not hide where the running congctl is, and a
// value at fault is not used.
func TestReadPartly(t *testing.T) {
	d := Default()
	for text, want := range map[string]struct {
		socket, dir string
		expiry      time.Duration
	}{
		"socket: /a/s\nstate_dir: /b\nwindw: 2m\ntreatment: {expiry: 7m}\n": {"/a/s", "/b", 7 * time.Minute},
		"socket: /a/s\nplan:\n\tmax: 1\nstate_dir: /b\n":                    {"/a/s", "/b", d.Treatment.Expiry},
		"socket: a/s\nstate_dir: b\ntreatment: {expiry: 1s}\n":              {d.Socket, d.StateDir, d.Treatment.Expiry},
		"socket: [\n":               {d.Socket, d.StateDir, d.Treatment.Expiry},
		"- socket\n":                {d.Socket, d.StateDir, d.Treatment.Expiry},
		"socket: /a/s\n---\nb: 1\n": {"/a/s", d.StateDir, d.Treatment.Expiry},
	} {
		name := filepath.Join(t.TempDir(), "c.yml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := ReadPartly(name)
		if _, ok := errors.AsType[strict.Faults](err); !ok {
			t.Errorf("%q: %v", text, err)
		}
		if c.Socket != want.socket || c.StateDir != want.dir || c.Treatment.Expiry != want.expiry {
			t.Errorf("%q: %s, %s, %s", text, c.Socket, c.StateDir, c.Treatment.Expiry)
		}
	}
}
