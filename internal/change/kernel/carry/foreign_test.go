package carry

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
)

// twoJournals is a host with two changes in force, one that writes a file and another one.
func twoJournals(t *testing.T) (root string, e *Engine) {
	t.Helper()
	root = laidOut(t, "/etc")
	e = New(Options{Disk: HostDisk{Root: root}, Boot: "b"})
	for _, subject := range []string{"host", "shape eth0"} {
		file := change.FileText("x\n")
		file.UID, file.GID = uint32(os.Geteuid()), uint32(os.Getegid())
		h, err := e.Header(subject, "test", "m", time.Unix(1_795_000_000, 0))
		if err == nil {
			_, err = e.Apply(change.Plan{Header: h, Steps: []change.Step{{Kind: change.File, Target: "/etc/" + h.ID, Old: change.Absent, New: file}}}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root, e
}

// TestForeignJournals: a journal that somebody else could have written, or that is damaged, is
// never carried out and keeps only its own subject from being undone. Set aside, it is no more.
func TestForeignJournals(t *testing.T) {
	const host = DefaultDir + "/000001-host.journal"
	for want, spoil := range map[string]func(root string) error{
		"/000001-host.journal has mode 666: others could redirect it: chmod go-w " + host: func(root string) error { return os.Chmod(root+host, 0o666) },
		"line 1": func(root string) error { return os.WriteFile(root+host, []byte("x\ny\n"), 0o600) },
		"not a plain file: a FIFO": func(root string) error {
			return errors.Join(os.Remove(root+host), unix.Mkfifo(root+host, 0o600))
		},
		"too many levels of symbolic links": func(root string) error {
			return errors.Join(os.Rename(root+host, root+"/moved"), os.Symlink("/moved", root+host))
		},
		"it has the change 000002-shape-eth0": func(root string) error {
			b, err := os.ReadFile(root + DefaultDir + "/000002-shape-eth0.journal")
			return errors.Join(err, os.WriteFile(root+host, b, 0o600))
		},
	} {
		root, e := twoJournals(t)
		if err := spoil(root); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Clear("shape eth0", false, "asked"); err != nil {
			t.Errorf("%s: the other one: %v", want, err)
		}
		_, err := e.Clear("host", false, "asked")
		var bad DamagedError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "congctl change forget 000001-host") {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := os.Stat(root + "/etc/000001-host"); err != nil {
			t.Errorf("%s: it was undone: %v", want, err)
		}
		if _, err := e.Set("host", func() (change.Plan, error) { return change.Plan{}, nil }, nil); !errors.As(err, &bad) {
			t.Errorf("%s: a new change: %v", want, err)
		}
		if _, err := e.Forget("000001-host"); err != nil {
			t.Errorf("%s: forget: %v", want, err)
		}
		if _, err := e.Clear("host", false, "asked"); !errors.Is(err, ErrNothing) {
			t.Errorf("%s: forgotten: %v", want, err)
		}
		if _, err := os.Lstat(root + host + forgotten); err != nil {
			t.Errorf("%s: the file is gone: %v", want, err)
		}
		if h, err := e.Header("host", "test", "m", time.Unix(1_795_000_000, 0)); err != nil || h.ID != "000003-host" {
			t.Errorf("%s: the next one is %s, %v", want, h.ID, err)
		}
	}
}

// TestForeignDirectory: in a directory that others may write no journal is believed, and none is begun.
func TestForeignDirectory(t *testing.T) {
	root, e := twoJournals(t)
	for dir, want := range map[string]string{
		DefaultDir:         DefaultDir + " has mode 777: others could redirect it: chmod go-w " + DefaultDir,
		"/var/lib/congctl": "chmod go-w /var/lib/congctl",
		"/var":             "chmod go-w /var",
	} {
		if err := os.Chmod(root+dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Clear("host", false, "asked"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: undo: %v", dir, err)
		}
		if _, err := e.begin(change.Plan{Header: change.Header{ID: "000009-x"}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: begin: %v", dir, err)
		}
		if err := os.Chmod(root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Clear("host", false, "asked"); err != nil {
		t.Error(err)
	}
}

// TestForgetNothing: an ID is that of a journal, and not a path.
func TestForgetNothing(t *testing.T) {
	_, e := twoJournals(t)
	for _, id := range []string{"000007-host", "", "../000001-host", "/etc/passwd"} {
		if _, err := e.Forget(id); !errors.Is(err, ErrNoJournal) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
