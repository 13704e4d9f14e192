package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForeignStore: what somebody else could have written is not believed, whoever asks; the error
// has the command that mends it.
func TestForeignStore(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"a store that others may write":           {func(dir string) error { return os.Chmod(filepath.Join(dir, "congctl.db"), 0o666) }, "chmod go-w "},
		"a state directory that others may write": {func(dir string) error { return os.Chmod(dir, 0o777) }, "chmod go-w "},
		"a log that is a link":                    {func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "congctl.db-wal")) }, "rm "},
	} {
		dir := filepath.Join(t.TempDir(), "state")
		conf := filepath.Join(t.TempDir(), "c.yml")
		check(t, os.Mkdir(dir, 0o700))
		check(t, os.WriteFile(conf, []byte("pop: edge1\nstate_dir: "+dir+"\nsocket: "+dir+"/sock\n"), 0o600))
		check(t, os.WriteFile(filepath.Join(dir, "congctl.db"), nil, 0o600))
		check(t, c.spoil(dir))
		for _, verb := range []string{"rounds", "stop"} {
			var out strings.Builder
			if code := run([]string{verb, "-c", conf}, &out, &out); code != exitFailed || !strings.Contains(out.String(), "try: sudo "+c.want+dir) {
				t.Errorf("%s, %s: exit code %d: %s", name, verb, code, &out)
			}
		}
	}
}
