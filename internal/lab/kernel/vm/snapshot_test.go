package vm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
)

// TestSnapshotChangesNothing: a machine that was saved on its way, one that goes on from
// there, and one that was never stopped do the same at the same time. It depends on the host
// whether QEMU's clock skips while the first one stops, so this is a draw each time.
func TestSnapshotChangesNothing(t *testing.T) {
	m := machine(t, `{"seed":1,"task":"transfer","n":300000}`)
	saved, whole := bootTwice(t, m)
	if !sameRun(saved, whole) {
		t.Errorf("never stopped: at %v %s\nsaved: at %v %s", whole.Times, whole.Report, saved.Times, saved.Report)
	}
}

// bootTwice runs a machine that is saved, one that is loaded, which must come out the same,
// and one that is never stopped.
func bootTwice(t *testing.T, m Machine) (saved, whole Outcome) {
	t.Helper()
	withNoSnapshot(t)
	if err := m.complete(); err != nil { // it is part of what the machine is made of
		t.Fatal(err)
	}
	saved = mustRun(t, m)
	loaded := mustRun(t, m)
	if s := <-booted; s.drive == nil {
		t.Errorf("nothing was saved: %+v", s)
		booted <- s
	} else {
		s.drive.Close()
		booted <- snapshot{of: m.made(&saved), never: true}
	}
	whole = mustRun(t, m)
	never := strings.Join(whole.Args, " ")
	if got := strings.Join(loaded.Args, " "); !strings.Contains(got, "-loadvm") || strings.Contains(never, "-loadvm") || strings.Contains(never, "panic=pause") {
		t.Errorf("started with %s and %s", got, never)
	}
	if !sameRun(saved, loaded) {
		t.Errorf("loaded: at %v %s\nsaved: at %v %s", loaded.Times, loaded.Report, saved.Times, saved.Report)
	}
	return saved, whole
}

func sameRun(a, b Outcome) bool { return bytes.Equal(a.Report, b.Report) && a.Times == b.Times }

// withNoSnapshot has a test begin and end as a process does.
func withNoSnapshot(t *testing.T) {
	t.Helper()
	forget := func() {
		if s := <-booted; s.drive != nil {
			s.drive.Close()
		}
		booted <- snapshot{}
	}
	forget()
	t.Cleanup(forget)
}

func mustPrepare(t *testing.T, of string) *boot {
	t.Helper()
	b, err := prepare(context.Background(), of)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOneBootsAndOthersLoad: while the first boots no other does; where it fails the
// next one boots, where it cannot be saved none tries again, where it was saved each
// gets a drive of its own with the same bytes.
func TestOneBootsAndOthersLoad(t *testing.T) {
	withNoSnapshot(t)
	first := mustPrepare(t, "a")
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := prepare(stopped, "a"); !first.keep || first.load || !errors.Is(err, context.Canceled) {
		t.Errorf("first %+v, second meanwhile: %v", first, err)
	}
	first.end(true)
	second := mustPrepare(t, "a")
	if !second.keep {
		t.Errorf("after one that failed: %+v", second)
	}
	if err := second.save(answering(t, `{"return": ""}`)); err != nil {
		t.Fatal(err)
	}
	second.end(true) // of no account now
	third, fourth := mustPrepare(t, "a"), mustPrepare(t, "a")
	for _, b := range []*boot{third, fourth} {
		got, err := os.ReadFile(inQEMU(int(b.drive.Fd())))
		if !b.load || b.keep || err != nil || !bytes.Equal(got, emptyDrive()) {
			t.Errorf("after one that was saved: %+v, %d bytes, %v", b, len(got), err)
		}
		b.end(false)
	}
	other := mustPrepare(t, "b")
	if !other.keep || other.load {
		t.Errorf("another machine: %+v", other)
	}
	if err := other.save(answering(t, `{"return": "Error: no room"}`)); err != nil {
		t.Fatal(err)
	}
	other.end(false)
	if last := mustPrepare(t, "b"); last.keep || last.load {
		t.Errorf("after one that could not be saved: %+v", last)
	}
}

// answering is a QEMU that says just this.
func answering(t *testing.T, lines ...string) *monitor {
	t.Helper()
	m, _ := conversation(t, lines...)
	return m
}

// conversation also returns what QEMU was asked, once it has ended.
func conversation(t *testing.T, lines ...string) (m *monitor, asked func() string) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close() })
	heard := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(far)
		heard <- string(b)
	}()
	in := strings.NewReader(strings.Join(lines, "\n") + "\n")
	m = newMonitor(struct {
		io.Reader
		io.Writer
	}{in, near})
	return m, func() string { near.Close(); return <-heard }
}

func TestMonitorSavesBetweenEvents(t *testing.T) {
	m, asked := conversation(t, `{"QMP": {"version": {}}}`, `{"return": {}}`, `{"event": "RESUME"}`, `{"event": "GUEST_PANICKED", "data": {}}`,
		`{"event": "STOP"}`, `{"return": ""}`)
	if err := errors.Join(m.greet(), m.await("GUEST_PANICKED"), m.save()); err != nil {
		t.Error(err)
	}
	want := `{"execute":"qmp_capabilities"}
{"arguments":{"command-line":"savevm booted"},"execute":"human-monitor-command"}
`
	if got := asked(); got != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
}

func TestMonitorTellsFaults(t *testing.T) {
	for line, want := range map[string]string{
		`{"return": "Error: no room\r\n"}`:                            "save machine: Error: no room",
		`{"error": {"class": "GenericError", "desc": "not stopped"}}`: "ask QEMU to human-monitor-command: not stopped",
		`{"return": 5}`: "save machine: json",
		`QEMU says hi`:  "listen to QEMU: invalid character",
	} {
		if err := answering(t, line).save(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	if err := answering(t, `{"event": "STOP"}`).await("GUEST_PANICKED"); !errors.Is(err, io.EOF) {
		t.Errorf("QEMU ended: %v", err)
	}
}

// TestEmptyDriveIsItsFormat: header and tables by hand, from docs/interop/qcow2.txt.
func TestEmptyDriveIsItsFormat(t *testing.T) {
	b := emptyDrive()
	header := "QFI\xfb" + "\x00\x00\x00\x03" + strings.Repeat("\x00", 12) + // version 3, no backing file
		"\x00\x00\x00\x10" + "\x00\x00\x00\x00\x00\x10\x00\x00" + // clusters of 2^16, a disk of 1 MiB
		"\x00\x00\x00\x00" + "\x00\x00\x00\x01" + "\x00\x00\x00\x00\x00\x03\x00\x00" + // not encrypted; one L1 entry, in cluster 3
		"\x00\x00\x00\x00\x00\x01\x00\x00" + "\x00\x00\x00\x01" + // refcount table: cluster 1, one cluster
		strings.Repeat("\x00", 36) + // no snapshots, no features
		"\x00\x00\x00\x04" + "\x00\x00\x00\x68" // refcounts of 2^4 bits, header of 104 bytes
	if len(b) != 4<<16 || !strings.HasPrefix(string(b), header) || len(header) != 104 {
		t.Errorf("%d bytes, header % x, want % x", len(b), b[:104], header)
	}
	if got := b[1<<16 : 1<<16+8]; string(got) != "\x00\x00\x00\x00\x00\x02\x00\x00" {
		t.Errorf("refcount table % x", got)
	}
	if got := b[2<<16 : 2<<16+10]; string(got) != "\x00\x01\x00\x01\x00\x01\x00\x01\x00\x00" {
		t.Errorf("refcounts % x", got)
	}
	if bytes.ContainsFunc(b[3<<16:], func(r rune) bool { return r != 0 }) {
		t.Error("the L1 table is not empty")
	}
}
