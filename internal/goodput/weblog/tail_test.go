package weblog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tailed is a Tail and the file that it follows.
type tailed struct {
	t    *testing.T
	path string
	tail *Tail
}

func newTailed(t *testing.T, before string) *tailed {
	x := &tailed{t: t, path: filepath.Join(t.TempDir(), "access.log")}
	if before != "-" {
		x.write(before)
	}
	x.tail = NewTail(x.path, 20)
	t.Cleanup(func() { x.tail.Close() })
	return x
}

func (x *tailed) write(text string) {
	x.t.Helper()
	f, err := os.OpenFile(x.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		x.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		x.t.Fatal(err)
	}
}

// want reads and compares "number:line" words.
func (x *tailed) want(lines ...string) {
	x.t.Helper()
	var got []string
	if _, err := x.tail.Read(func(n int64, line []byte) { got = append(got, fmt.Sprintf("%d:%s", n, line)) }); err != nil {
		x.t.Fatal(err)
	}
	if strings.Join(got, " ") != strings.Join(lines, " ") {
		x.t.Fatalf("%q, want %q", got, lines)
	}
}

func (x *tailed) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func TestAppend(t *testing.T) {
	x := newTailed(t, "old\n")
	x.want()
	x.write("a\nb\nhal")
	x.want("1:a", "2:b")
	x.want()
	x.write("f\n\n")
	x.want("3:half", "4:")
}

// The first look falls into the middle of a line: its rest is no line.
func TestBeginsInALine(t *testing.T) {
	x := newTailed(t, "ol")
	x.want()
	x.write("d\nnew\n")
	x.want("1:new")
}

func TestLongLineIsCut(t *testing.T) {
	x := newTailed(t, "")
	x.want()
	x.write(strings.Repeat("x", 3*chunk) + "\nnext\n")
	x.want("1:"+strings.Repeat("x", 21), "2:next")
	x.write(strings.Repeat("y", 21)) // no end, ever
	x.want("3:" + strings.Repeat("y", 21))
	x.write("y\n")
	x.want()
}

// logrotate: the file moves away, the server writes to it a little longer, then a new one comes.
func TestRotate(t *testing.T) {
	x := newTailed(t, "")
	x.want()
	x.write("a\n")
	old := x.path + ".1"
	x.must(os.Rename(x.path, old))
	x.want("1:a")
	f, err := os.OpenFile(old, os.O_APPEND|os.O_WRONLY, 0)
	x.must(err)
	defer f.Close()
	_, err = f.WriteString("b\n")
	x.must(err)
	x.want("2:b")
	_, err = f.WriteString("c\n")
	x.must(err)
	x.write("d\n")
	x.want("3:c", "1:d")
	x.write("e\n")
	x.want("2:e")
}

// Apache ends a download in its old process and writes its line to the old file, minutes after the new one was begun.
func TestLateLineOfRotatedLog(t *testing.T) {
	x := newTailed(t, "")
	x.want()
	x.write("a\n")
	x.want("1:a")
	server, err := os.OpenFile(x.path, os.O_APPEND|os.O_WRONLY, 0)
	x.must(err)
	defer server.Close()
	for _, name := range []string{".2", ".1"} { // two rotations
		x.must(os.Rename(x.path, x.path+name))
		x.write("new" + name + "\n")
		x.want("1:new" + name)
	}
	for range 2 * fewReads {
		x.want()
	}
	_, err = server.WriteString("late\n")
	x.must(err)
	x.write("now\n")
	x.want("2:late", "2:now")
	x.must(server.Close())
	for range longReads {
		x.want()
	}
	if len(x.tail.old) > 0 {
		t.Errorf("%d files are still open", len(x.tail.old))
	}
}

// Somebody moves a log away and back: it goes on where it was.
func TestMovedBack(t *testing.T) {
	x := newTailed(t, "")
	x.want()
	x.write("a\n")
	x.want("1:a")
	x.must(os.Rename(x.path, x.path+".1"))
	x.write("b\n")
	x.want("1:b")
	x.must(os.Rename(x.path+".1", x.path))
	x.write("c\n")
	x.want("2:c")
}

// A log that is moved each second does not take all descriptors.
func TestManyRotations(t *testing.T) {
	x := newTailed(t, "")
	for i := range 3 * maxOld {
		x.want()
		x.must(os.Rename(x.path, fmt.Sprint(x.path, i)))
		x.write("")
	}
	if x.want(); len(x.tail.old) != maxOld {
		t.Errorf("%d files are open", len(x.tail.old))
	}
}

// copytruncate: what was added since the last Read is in the copy, each line once; and what was written since is more
// than the log had.
func TestCopyTruncate(t *testing.T) {
	x := newTailed(t, "old\n")
	x.want()
	x.write("a\nb\nha")
	x.want("1:a", "2:b")
	x.write("lf\nc\n")
	b, err := os.ReadFile(x.path)
	x.must(err)
	x.must(os.WriteFile(x.path+".0", []byte("another, longer than the log was\n"), 0o600))
	x.must(os.WriteFile(x.path+".1", b, 0o600))
	x.must(os.Truncate(x.path, 0))
	x.write("d\ne\nf\ng\nh\ni\nj\nk\nl\n")
	x.want("3:half", "4:c", "3:d", "4:e", "5:f", "6:g", "7:h", "8:i", "9:j", "10:k", "11:l")
	x.write("m\n")
	x.want("12:m")
}

// A server that does not append writes behind a hole after copytruncate.
func TestHole(t *testing.T) {
	x := newTailed(t, "")
	x.want()
	x.write("aaaa\n")
	x.want("1:aaaa")
	x.must(os.Truncate(x.path, 0))
	x.must(os.Truncate(x.path, 300_000))
	x.write("b\n")
	x.want("2:b")
}

func TestTruncate(t *testing.T) {
	x := newTailed(t, "")
	x.want()
	x.write("aaaa\nbb")
	x.want("1:aaaa")
	x.must(os.Truncate(x.path, 0))
	x.write("c\n")
	x.want("2:c")
}

// A file that comes later is new from its first line.
func TestMissing(t *testing.T) {
	x := newTailed(t, "-")
	if missing, err := x.tail.Read(nil); !missing || err != nil {
		t.Fatal(missing, err)
	}
	x.write("a\n")
	x.want("1:a")
}

func TestNoFile(t *testing.T) {
	tail := NewTail(t.TempDir(), 20)
	if _, err := tail.Read(nil); err == nil || !strings.Contains(err.Error(), "not a plain file: a directory; let the server write to a plain file") {
		t.Error(err)
	}
}
