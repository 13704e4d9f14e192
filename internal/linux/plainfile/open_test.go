package plainfile

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOnlyPlainFiles: whatever is at a path, opening it returns at once, and the error names it.
func TestOnlyPlainFiles(t *testing.T) {
	t.Chdir(t.TempDir()) // a socket's path is short
	for _, err := range []error{
		os.WriteFile("plain", []byte("12345678"), 0o600), os.Symlink("plain", "link"), os.Mkdir("dir", 0o700),
		unix.Mkfifo("fifo", 0o600), os.Symlink("fifo", "linked-fifo"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, want := range map[string]string{
		"plain": "", "link": "", "dir": "a directory", "fifo": "a FIFO", "linked-fifo": "a FIFO", "socket": "a socket",
		"/dev/zero": "a device", "nosuch": "no such file",
	} {
		b, err := Read(name, 8)
		if want == "" && (err != nil || string(b) != "12345678") {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrKind) != (name != "nosuch")) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := Read("plain", 7); err == nil || !strings.Contains(err.Error(), "read plain: more than 7 bytes") {
		t.Error(err)
	}
}

// TestJudge: who could have written it, by owner and mode.
func TestJudge(t *testing.T) {
	other := uint32(os.Geteuid()) + 1000
	for _, c := range []struct {
		uid, mode uint32
		above     bool
		want      string
	}{
		{0, 0o755, false, ""}, {0, 0o600, false, ""}, {uint32(os.Geteuid()), 0o644, false, ""},
		{0, 0o1777, true, ""}, {0, 0o1777, false, "/x has mode 1777: others could redirect it: chmod go-w /x"},
		{0, 0o777, true, "chmod go-w /x"}, {0, 0o660, false, "/x has mode 660"}, {0, 0o2775, true, "chmod go-w /x"},
		{other, 0o600, false, "who could redirect it: chown root /x"}, {other, 0o1777, true, "chown root /x"},
	} {
		err := judge("/x", unix.Stat_t{Uid: c.uid, Mode: c.mode}, c.above)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestReadOwned: the file and each directory above it count, and a link is none.
func TestReadOwned(t *testing.T) {
	root := t.TempDir()
	for _, c := range []struct {
		name, want string
		spoil      func(at func(string) string) error
	}{
		{"all as it should be", "", func(func(string) string) error { return nil }},
		{"a file that others may write", "/a/b/f has mode 666", func(at func(string) string) error { return os.Chmod(at("/a/b/f"), 0o666) }},
		{"its directory", "/a/b has mode 777: others could redirect it: chmod go-w /a/b", func(at func(string) string) error { return os.Chmod(at("/a/b"), 0o777) }},
		{"one above", "/a has mode 777", func(at func(string) string) error { return os.Chmod(at("/a"), 0o777) }},
		{"a link", "too many levels", func(at func(string) string) error {
			return errors.Join(os.Rename(at("/a/b/f"), at("/a/b/g")), os.Symlink("g", at("/a/b/f")))
		}},
	} {
		own := filepath.Join(root, strings.ReplaceAll(c.name, " ", "-"))
		at := func(name string) string { return own + name }
		for _, err := range []error{os.MkdirAll(at("/a/b"), 0o755), os.WriteFile(at("/a/b/f"), []byte("x"), 0o644), c.spoil(at)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		b, err := ReadOwned(own, "/a/b/f", 100)
		if c.want == "" && (err != nil || string(b) != "x") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %q, %v", c.name, b, err)
		}
	}
}

// TestOwnedFile: the same of a file that need not be there, and of where links above it lead.
func TestOwnedFile(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func() error
		want  string
	}{
		"as it should be":         {func() error { return nil }, ""},
		"absent":                  {func() error { return os.Remove("a/f") }, ""},
		"writable":                {func() error { return os.Chmod("a/f", 0o666) }, "a/f has mode 666: others could redirect it: chmod go-w "},
		"in a writable directory": {func() error { return os.Chmod("a", 0o777) }, "a has mode 777"},
		"a link":                  {func() error { return errors.Join(os.Rename("a/f", "a/g"), os.Symlink("g", "a/f")) }, "a/f is a link"},
		"linked to a writable one": {func() error {
			return errors.Join(os.Rename("a", "b"), os.Chmod("b", 0o777), os.Symlink("b", "a"))
		}, "has mode 777"},
	} {
		dir := t.TempDir()
		t.Chdir(dir)
		if err := errors.Join(os.Mkdir("a", 0o700), os.WriteFile("a/f", nil, 0o600), c.spoil()); err != nil {
			t.Fatal(err)
		}
		if err := OwnedFile(dir + "/a/f"); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
