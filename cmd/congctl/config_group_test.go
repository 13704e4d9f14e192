package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfigCheckFindsWhatUpWould: a group that does not exist, and a socket's path that leaves no
// room for the name under which it is made.
func TestConfigCheckFindsWhatUpWould(t *testing.T) {
	for text, want := range map[string]string{
		"socket_group: no-such-group-here\n":             "group no-such-group-here: ",
		"socket: /" + strings.Repeat("s", 99) + "\n":     "100 bytes long, at most 99",
		"socket_group: root\nsocket: /run/c/up.socket\n": "",
	} {
		file := filepath.Join(t.TempDir(), "congctl.yml")
		check(t, os.WriteFile(file, []byte(text), 0o600))
		var out bytes.Buffer
		code := run([]string{"config", "check", "-c", file}, &out, &out)
		if want == "" && code != exitOK || want != "" && (code != exitUsage || !strings.Contains(out.String(), want)) {
			t.Errorf("%s: exit code %d:\n%s", text, code, &out)
		}
	}
}
