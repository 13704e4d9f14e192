package asn

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// testdata/asn.mmdb was written by github.com/maxmind/mmdbwriter and holds
// 203.0.113.0/24 AS64500 Example Cable, 198.51.100.0/25 AS64501 without a name, and
// 2001:db8::/32 AS64502 Example Six.
func TestOf(t *testing.T) {
	r, err := Open("testdata/asn.mmdb")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for prefix, want := range map[string]string{
		"203.0.113.0/24": "AS64500 Example Cable", "198.51.100.0/24": "AS64501", "2001:db8:0:ab00::/56": "AS64502 Example Six",
		"192.0.2.0/24": "", "2001:db9::/56": "",
	} {
		p, err := record.ParsePrefix(prefix)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Of(p); got != want {
			t.Errorf("%s: %q, want %q", prefix, got, want)
		}
	}
	if r.Of(0) != "" {
		t.Error("no prefix has a name")
	}
}

func TestRefused(t *testing.T) {
	good, err := os.ReadFile("testdata/asn.mmdb")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		bytes []byte
		want  string
	}{
		"city": {[]byte(strings.ReplaceAll(string(good), "autonomous_system_number", "autonomous_system_nummer")), "without autonomous systems"},
		"text": {[]byte("203.0.113.0/24 AS64500\n"), "not a database in mmdb format"},
		"cut":  {good[:len(good)/2], "not a database in mmdb format"},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, c.bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open("testdata/absent"); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestReplacedInPlace: what becomes of the file later changes no answer and ends no process.
func TestReplacedInPlace(t *testing.T) {
	good, err := os.ReadFile("testdata/asn.mmdb")
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := record.ParsePrefix("203.0.113.0/24")
	if err != nil {
		t.Fatal(err)
	}
	for name, replace := range map[string]func(path string) error{
		"emptied":     func(path string) error { return os.Truncate(path, 0) },
		"cut":         func(path string) error { return os.Truncate(path, 100) },
		"overwritten": func(path string) error { return os.WriteFile(path, make([]byte, len(good)), 0o600) },
		"removed":     os.Remove,
	} {
		path := filepath.Join(t.TempDir(), "asn.mmdb")
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := replace(path); err != nil {
			t.Fatal(err)
		}
		if got := r.Of(prefix); got != "AS64500 Example Cable" {
			t.Errorf("%s: %q", name, got)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoPlainFile: neither a FIFO without a writer, nor a device without an end, nor a huge file with holes is waited for.
func TestNoPlainFile(t *testing.T) {
	dir := t.TempDir()
	fifo, huge := filepath.Join(dir, "fifo"), filepath.Join(dir, "huge")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), os.WriteFile(huge, nil, 0o600), os.Truncate(huge, maxFile+1)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "not a plain file", "/dev/zero": "not a plain file", dir: "not a plain file", huge: "more than 64 MiB"} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
