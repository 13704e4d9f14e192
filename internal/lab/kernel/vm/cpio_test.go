package vm

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// unpack reads an archive the slow way, by the offsets of the format's description.
func unpack(t *testing.T, b []byte) (listing []string) {
	t.Helper()
	number := func(i int) int {
		n, err := strconv.ParseUint(string(b[6+8*i:14+8*i]), 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		return int(n)
	}
	padded := func(n int) int { return (n + 3) / 4 * 4 }
	for len(b) > 0 {
		if !bytes.HasPrefix(b, []byte("070701")) {
			t.Fatalf("no header at %q", b[:min(len(b), 20)])
		}
		size, nameSize := number(6), number(11)
		name := string(b[110 : 110+nameSize-1])
		if b[110+nameSize-1] != 0 {
			t.Fatalf("name %q is not ended", name)
		}
		body := b[padded(110+nameSize):][:size]
		listing = append(listing, fmt.Sprintf("%s %o %d:%d %s", name, number(1), number(9), number(10), body))
		b = b[padded(padded(110+nameSize)+size):]
	}
	return listing
}

func TestArchiveUnpacks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"d/four": "1234", "d/five": "12345", "d/none": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("four", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"d": 0o755, "d/four": 0o640, "d/five": 0o640, "d/none": 0o640} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil { // whatever the umask is
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	a := &Archive{w: w}
	a.entry("console", modeChar|0o600, 5, 1, nil)
	if err := a.Tree(dir); err != nil {
		t.Fatal(err)
	}
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	w.Flush()
	got := strings.Join(unpack(t, out.Bytes()), "\n")
	want := strings.Join([]string{"console 20600 5:1 ", "d 40755 0:0 ", "d/five 100640 0:0 12345", "d/four 100640 0:0 1234",
		"d/none 100640 0:0 ", "link 120777 0:0 four", "TRAILER!!! 0 0:0 "}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
