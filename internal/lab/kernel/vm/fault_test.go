package vm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/kernel/vm/mailbox"
)

// noPtrace is what the program says where seccomp answers ptrace(2) with EPERM.
const noPtrace = "Checking that ptrace can change system call numbers...ptrace: Operation not permitted\r\n" +
	"check_ptrace : expected SIGSTOP, got status = 9\r\n"

func TestLastLinesEndAtThePanic(t *testing.T) {
	var console strings.Builder
	for i := range 40 {
		fmt.Fprintf(&console, "line %d\r\n", i)
	}
	if got := strings.Split(lastLines(console.String()), "\n"); len(got) != shownLines || got[0] != "  line 15" || got[24] != "  line 39" {
		t.Errorf("%d lines: %q", len(got), got)
	}
	console.WriteString("[ 1.0] Kernel panic - not syncing: why\r\nRIP: registers\r\n")
	if got := lastLines(console.String()); !strings.HasSuffix(got, "line 39\n  [ 1.0] Kernel panic - not syncing: why") {
		t.Errorf("%q", got)
	}
	if got := lastLines(""); got != "  (none)" {
		t.Errorf("%q", got)
	}
}

func TestExplainSaysWhatCameFirst(t *testing.T) {
	live := context.Background()
	limited, cancel := context.WithTimeoutCause(live, 0, ErrHung)
	defer cancel()
	stopped, stop := context.WithCancel(live)
	stop()
	exit := errors.New("exit status 1")
	for _, c := range []struct {
		name       string
		ctx        context.Context
		taken, ran error
		console    string
		want       error
		text       string
	}{
		{"a report counts though QEMU was ended", limited, nil, exit, "", nil, ""},
		{"the guest's own words", live, fmt.Errorf("%w: no veth", ErrGuest), nil, "", ErrGuest, "guest: no veth"},
		{"the limit", limited, mailbox.ErrEmpty, exit, "booting", ErrHung, "ended after 3s of real time; its last lines:\n  booting"},
		{"stopped", stopped, mailbox.ErrEmpty, exit, "", context.Canceled, "canceled"},
		{"panic", live, mailbox.ErrEmpty, nil, panicText + ": x", ErrPanic, panicText},
		{"QEMU", live, mailbox.ErrEmpty, exit, "", exit, "exit status 1"},
		{"a program", live, mailbox.ErrEmpty, exit, noPtrace, exit, "exit status 1; its last lines:\n  Checking that ptrace can change system call numbers...ptrace: Operation not permitted\n"},
		{"nothing", live, mailbox.ErrEmpty, nil, "bye", nil, "turned itself off without a report; its last lines:\n  bye"},
		{"broken message", live, errors.New("checksum"), nil, "", nil, "checksum"},
	} {
		m := &Machine{Wall: 3 * time.Second, Kernel: Kernel{Program: c.console == noPtrace}}
		err := explain(c.ctx, m, c.taken, c.ran, c.console)
		if c.taken == nil {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", c.name, err, c.text)
		}
	}
}
