package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// systemdRun plays systemd-run: it notes its words and its process, and goes on as the command.
const systemdRun = `#!/bin/sh
echo $$ "$@" > %LOG
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
`

// withSystemdRun puts a program of that name first on the path, and returns where it notes its arguments.
func withSystemdRun(t *testing.T, s *shaped, script string) (log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	check(t, os.WriteFile(filepath.Join(dir, "systemd-run"), []byte(strings.ReplaceAll(script, "%LOG", log)), 0o755))
	s.env = append(s.env, "PATH="+dir+":"+os.Getenv("PATH"))
	return log
}

func (s *shaped) awaitState(want string) {
	s.t.Helper()
	const patience = 30 * time.Second
	for end := time.Now().Add(patience); s.state() != want; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("after %s\n%s\nwant\n%s", patience, s.state(), want)
		}
	}
}

// What reverts lives in a scope of its own; whoever ends it all the same has the limit
// taken back at once.
func TestShapeChildHasItsScope(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell, which plays systemd-run; minimum kernel 5.3")
	}
	s := newShaped(t)
	before := s.state()
	log := withSystemdRun(t, s, systemdRun)
	s.must("shape", "set", "a", "8Mbit/s", "--confirm", "--confirm-within", "1h")
	text, err := os.ReadFile(log)
	check(t, err)
	pid, words, _ := strings.Cut(string(text), " ")
	if !strings.HasPrefix(words, "--scope --quiet --description=congctl shape revert -- /") || !strings.Contains(words, " shape revert a --id ") {
		t.Errorf("got %s", text)
	}
	n, err := strconv.Atoi(pid)
	check(t, err)
	check(t, unix.Kill(n, unix.SIGTERM))
	s.awaitState(before)
}

// Where systemd-run cannot, the child is started without.
func TestShapeChildWithoutScope(t *testing.T) {
	for name, script := range map[string]string{"refuses": "#!/bin/sh\nexit 1\n", "is none": "not a program"} {
		s := newShaped(t)
		before := s.state()
		withSystemdRun(t, s, script)
		if s.must("shape", "set", "a", "8Mbit/s", "--confirm", "--confirm-within", "1s"); !s.view().Ours {
			t.Errorf("%s: no limit", name)
		}
		s.awaitState(before)
	}
}
