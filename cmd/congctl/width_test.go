package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// TestTablesAreCutOnATerminalOnly: the same table is whole in a pipe, and no line of it is
// wider than a terminal of 60 columns.
func TestTablesAreCutOnATerminalOnly(t *testing.T) {
	s := newStage(t, docsDB(t))
	whole := s.congctl(t, command{args: []string{"events"}})
	if !strings.Contains(whole, "of the busy time (limit") || strings.Contains(whole, "…") {
		t.Errorf("in a pipe:\n%s", whole)
	}
	main, replica := openTerminal(t, 60)
	s.withRunning(t, true, func() { // outside of a bubble: a terminal's buffer is the kernel's
		if code := run([]string{"events", "-n", "8", "-c", "congctl.yml"}, replica, io.Discard); code != exitOK {
			t.Errorf("exit code %d", code)
		}
	})
	replica.Close() // a terminal hands over what was written bit by bit: read to its end, which is an EIO
	out, err := io.ReadAll(main)
	if !errors.Is(err, unix.EIO) {
		t.Errorf("the terminal's end: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(out), "\r", "")), "\n")
	cut := 0
	for _, line := range lines {
		if strings.HasSuffix(line, "…") {
			cut++
		}
		if w := utf8.RuneCountInString(line); w > 60 {
			t.Errorf("%d columns: %s", w, line)
		}
	}
	if len(lines) != 9 || cut == 0 {
		t.Errorf("%d lines, %d of them cut:\n%s", len(lines), cut, strings.Join(lines, "\n"))
	}
}

// openTerminal makes a pseudo-terminal of so many columns.
func openTerminal(t *testing.T, columns uint16) (main, replica *os.File) {
	t.Helper()
	main, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	check(t, err)
	t.Cleanup(func() { main.Close() })
	check(t, unix.IoctlSetPointerInt(int(main.Fd()), unix.TIOCSPTLCK, 0))
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, main.Fd(), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY) // needs no /dev/pts here
	if errno != 0 {
		t.Fatal("open terminal: ", errno)
	}
	replica = os.NewFile(fd, "terminal")
	t.Cleanup(func() { replica.Close() })
	check(t, unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	return main, replica
}

// TestTablesFit: a heading of the pages' examples has at most 100 columns, but those of four
// verbs that have more to tell than that.
func TestTablesFit(t *testing.T) {
	// The kernel's fields; three quantiles with intervals; the state, the plan and what slows a network.
	wide := map[string]int{"sockets": 170, "effect": 120, "prefixes": 110, "top": 110}
	seen := 0
	for name, page := range verbPages(t) {
		for _, line := range heading.FindAllString(page, -1) {
			seen++
			if n := utf8.RuneCountInString(line); n > max(maxColumns, wide[name]) {
				t.Errorf("docs/verb/%s.md: %d columns: %s", name, n, line)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d headings", seen)
	}
}
