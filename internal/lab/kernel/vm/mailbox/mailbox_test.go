package mailbox

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func open(t testing.TB, memory []byte) Box {
	t.Helper()
	b, err := Open(memory)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReportArrives(t *testing.T) {
	memory := make([]byte, Size)
	b := open(t, memory)
	if _, _, err := b.Take(); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty mailbox gives %v", err)
	}
	times := Times{Up: 1, Loaded: 2 * time.Second, Ended: time.Hour}
	for _, message := range [][]byte{{}, []byte("x"), bytes.Repeat([]byte("ab"), MaxMessage/2)} {
		if err := b.Report(message, times); err != nil {
			t.Fatal(err)
		}
		got, when, err := open(t, memory).Take()
		if err != nil || !bytes.Equal(got, message) || when != times {
			t.Errorf("of %d bytes %d arrived, %v, %v", len(message), len(got), when, err)
		}
	}
	if err := b.Report(make([]byte, MaxMessage+1), times); err == nil || !strings.Contains(err.Error(), "sample less often") {
		t.Errorf("a report that does not fit: %v", err)
	}
}

// TestJobArrivesAndMakesRoom: a job comes whole, leaves nothing of what was there before
// it, and a report takes its place.
func TestJobArrivesAndMakesRoom(t *testing.T) {
	memory := make([]byte, Size)
	b := open(t, memory)
	if got := b.Job(); len(got) != 0 {
		t.Errorf("an empty mailbox has the job %q", got)
	}
	b.Say("of another run")
	b.Wait()
	if !open(t, memory).Waits() {
		t.Error("a guest that waits does not")
	}
	if err := b.Report([]byte("of another run"), Times{Up: 1}); err != nil {
		t.Fatal(err)
	}
	if err := b.Give([]byte("the job")); err != nil {
		t.Fatal(err)
	}
	lines, _ := b.Lines(0)
	_, _, err := b.Take()
	if got := open(t, memory).Job(); string(got) != "the job" || len(lines) != 0 || b.Waits() || !errors.Is(err, ErrEmpty) {
		t.Errorf("job %q, lines %q, %v", got, lines, err)
	}
	if err := b.Report([]byte("done"), Times{}); err != nil {
		t.Fatal(err)
	}
	if got, _, err := b.Take(); string(got) != "done" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := b.Give(make([]byte, MaxMessage+1)); err == nil {
		t.Error("a job that does not fit was taken")
	}
}

func TestFaultArrivesAsGuestsError(t *testing.T) {
	b := open(t, make([]byte, Size))
	b.Fault(errors.New("no veth"), Times{Ended: 5})
	got, times, err := b.Take()
	if got != nil || times.Ended != 5 || !errors.Is(err, ErrGuest) || err.Error() != "guest: no veth" {
		t.Errorf("%q, %v, %v", got, times, err)
	}
}

func TestBrokenMessagesAreNamed(t *testing.T) {
	for name, broken := range map[string]struct {
		at   int
		want string
	}{"text": {messageAt, "checksum"}, "checksum": {checksumAt, "checksum"}, "length": {lengthAt + 3, "at most"}, "kind": {stateAt, "unknown kind"}} {
		memory := make([]byte, Size)
		b := open(t, memory)
		if err := b.Report([]byte("the report"), Times{}); err != nil {
			t.Fatal(err)
		}
		memory[broken.at] ^= 0x80
		if got, _, err := b.Take(); got != nil || err == nil || !strings.Contains(err.Error(), broken.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestProgressIsReadOnceAndBounded(t *testing.T) {
	b := open(t, make([]byte, Size))
	b.Say("one")
	lines, next := b.Lines(0)
	b.Say("two\nlines")
	more, next := b.Lines(next)
	if !slices.Equal(lines, []string{"one"}) || !slices.Equal(more, []string{"two lines"}) {
		t.Errorf("%q, then %q", lines, more)
	}
	for i := range messageAt {
		b.Say(fmt.Sprint("line ", i))
	}
	if err := b.Report([]byte("report"), Times{}); err != nil {
		t.Fatal(err)
	}
	all, _ := b.Lines(next)
	got, _, err := b.Take()
	if string(got) != "report" || err != nil || len(all) < 4000 || all[len(all)-1] != fmt.Sprint("line ", len(all)-1) {
		t.Errorf("%q, %v, %d lines, the last %q", got, err, len(all), all[len(all)-1])
	}
}

// FuzzTake: whatever a guest writes, the host gets a message or an error, not both.
func FuzzTake(f *testing.F) {
	memory := make([]byte, Size)
	b := open(f, memory)
	if err := b.Report([]byte("seed"), Times{Up: 1}); err != nil {
		f.Fatal(err)
	}
	b.Say("a line")
	f.Add(bytes.Clone(memory[:64]), []byte("a line\n"), []byte("seed"))
	f.Add([]byte{}, []byte("no end"), []byte{})
	f.Fuzz(func(t *testing.T, words, text, message []byte) {
		clear(memory[:textAt+len(text)])
		copy(memory[:textAt], words)
		copy(memory[textAt:messageAt], text)
		copy(memory[messageAt:], message)
		if got, _, err := b.Take(); err != nil && got != nil {
			t.Errorf("%q and %v", got, err)
		}
		lines, next := b.Lines(0)
		again, _ := b.Lines(next)
		if len(again) != 0 || next > messageAt-textAt || len(lines) > next {
			t.Errorf("%d lines end at %d, then %q", len(lines), next, again)
		}
	})
}
