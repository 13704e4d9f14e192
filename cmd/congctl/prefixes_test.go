package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// TestWatch: it ends with the context, which is no error, also in the middle of an
// answer; any other error ends it, too.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, start := 0, time.Now()
		ctx, stop := context.WithTimeout(t.Context(), 2*watchEvery+time.Second)
		defer stop()
		if err := watch(ctx, func() error { calls++; return nil }); err != nil || calls != 3 || time.Since(start) != 2*watchEvery+time.Second {
			t.Errorf("%v after %d calls and %s", err, calls, time.Since(start))
		}
		ctx, stop = context.WithCancel(t.Context())
		if err := watch(ctx, func() error { stop(); return context.Canceled }); err != nil {
			t.Errorf("interrupted in the middle: %v", err)
		}
		bad := errors.New("no store")
		if err := watch(t.Context(), func() error { return bad }); err != bad {
			t.Errorf("got %v, want %v", err, bad)
		}
	})
}

// TestWatchOnATerminal: each answer begins at the top of the screen and fits it.
func TestWatchOnATerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "congctl.db")
	docsStore(t, path)
	db, err := os.ReadFile(path)
	check(t, err)
	s := newStage(t, db)
	master, slave := pseudoTerminal(t, 10)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(docsNow))
		ctx, stop := context.WithTimeout(t.Context(), watchEvery+time.Second)
		defer stop()
		root := newRoot()
		root.SetArgs([]string{"prefixes", "--watch", "-c", filepath.Join(s.dir, "congctl.yml")})
		root.SetOut(slave)
		check(t, root.ExecuteContext(ctx))
	})
	_, err = slave.WriteString("END")
	check(t, errors.Join(err, slave.Close()))
	var shown []byte
	for b := make([]byte, 4096); !bytes.HasSuffix(shown, []byte("END")); {
		n, err := master.Read(b)
		check(t, err)
		shown = append(shown, b[:n]...)
	}
	text := strings.TrimSuffix(strings.ReplaceAll(string(shown), "\r", ""), "END")
	screens := strings.Split(text, "\x1b[H\x1b[2J")
	if len(screens) != 3 || screens[0] != "" {
		t.Fatalf("%d screens: %q", len(screens)-1, text)
	}
	for _, text := range screens[1:] {
		if lines := strings.Split(text, "\n"); len(lines) != 10 || !strings.HasPrefix(lines[2], "203.0.113.0/24") || lines[9] != "" {
			t.Errorf("not ten lines with the cursor's:\n%s", text)
		}
	}
}

// pseudoTerminal returns both ends of a terminal with that many lines.
func pseudoTerminal(t *testing.T, lines uint16) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	check(t, err)
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	check(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	check(t, err)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	check(t, err)
	check(t, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: lines, Col: 120}))
	return master, slave
}

func TestPrefixesOffersItsValues(t *testing.T) {
	for flag, want := range map[string]string{"--sort": "address\nconnections\n", "--state": "A/A\nalways\ncooling\n"} {
		var out bytes.Buffer
		if code := run([]string{"__complete", "prefixes", flag, ""}, &out, &bytes.Buffer{}); code != exitOK || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s: code %d, %q", flag, code, out.String())
		}
	}
}
