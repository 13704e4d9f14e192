package distro

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const tree = "../../../.."

// fakeMachine puts a QEMU on the path that boots nothing: it runs the guest's own script
// on our end of the port.
func fakeMachine(t *testing.T, script string) Machine {
	t.Helper()
	dir := t.TempDir()
	drive, err := filepath.Abs(filepath.Join(tree, "tools/debian/overlay/usr/local/sbin/drive"))
	if err != nil {
		t.Fatal(err)
	}
	text := "#!/bin/sh\n" + strings.ReplaceAll(script, "DRIVE", drive)
	if err := os.WriteFile(filepath.Join(dir, qemuName), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", dir)
	return Machine{Console: filepath.Join(dir, "console")}
}

// limit of what hangs, for a kernel or an image that is fetched and made; nothing is asserted of it.
const limit = 10 * time.Minute

func boot(t *testing.T, m Machine) *Running {
	t.Helper()
	r, err := Boot(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Cut)
	return r
}

func do(t *testing.T, r *Running, script string) Result {
	t.Helper()
	res, err := r.Do(script)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestScriptsAreRunInTurn(t *testing.T) {
	r := boot(t, fakeMachine(t, "DRIVE || true"))
	for script, want := range map[string]Result{
		"true":                           {},
		"echo out; echo err >&2; exit 3": {3, "out\n", "err\n"},
		"printf 'a - b\\n\\0\\n\\n'":     {0, "a - b\n\x00\n\n", ""},
		"cat; kill -9 $$":                {137, "", ""},
		"x=1\nif [ $x = 1 ]; then\n\techo lines\nfi": {0, "lines\n", ""},
		"[ ! -e /dev/fd/3 ]":                         {},
	} {
		got := do(t, r, script)
		if script == "cat; kill -9 $$" {
			got.Stderr = "" // the shell may tell of it
		}
		if got != want {
			t.Errorf("%q: %+v, want %+v", script, got, want)
		}
	}
	if err := r.Off("kill $PPID"); err != nil {
		t.Error(err)
	}
	if _, err := r.Do("true"); err == nil {
		t.Error("a machine that is off takes a script")
	}
}

func TestMachineThatEnds(t *testing.T) {
	r := boot(t, fakeMachine(t, "DRIVE; echo broken >&2; exit 7"))
	if _, err := r.Do("kill $PPID"); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "exit status 7: ") || !strings.Contains(err.Error(), "broken") {
		t.Errorf("%v", err)
	}
	r = boot(t, fakeMachine(t, "DRIVE; exit 7"))
	if err := r.Off("kill $PPID"); err == nil {
		t.Error("an end with a fault is taken for a shutdown")
	}
	r = boot(t, fakeMachine(t, "exec DRIVE"))
	r.Cut()
	r.Cut() // once more does no harm
	if _, err := r.Do("true"); err == nil {
		t.Error("a machine without power takes a script")
	}
}

func TestMachineThatNeverGreets(t *testing.T) {
	m := fakeMachine(t, "echo no such disk >&2; exit 1")
	if err := os.WriteFile(m.Console, []byte("last words"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Boot(context.Background(), m)
	if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "no such disk") || !strings.Contains(err.Error(), "last words") {
		t.Errorf("%v", err)
	}
	if _, err := Boot(context.Background(), fakeMachine(t, "echo hello >&3; exec sleep 100")); err == nil || !strings.Contains(err.Error(), `"hello" is not a greeting`) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := Boot(ctx, fakeMachine(t, "exec sleep 100")); err == nil {
		t.Error("a machine that hangs is up")
	}
}

func FuzzParseResult(f *testing.F) {
	f.Add("0 - -")
	f.Add("3 6f75740a- 6572720a-")
	f.Add("0 6f7574")
	f.Add("0 6f7574 -")
	f.Fuzz(func(t *testing.T, line string) {
		if got, err := parseResult(line); err != nil && got.Code != 0 {
			t.Errorf("%q: %+v and %v", line, got, err)
		}
	})
}
