package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/lab/kernel/vm/mailbox"
)

// explain says in one error why there is no report: taken is the mailbox's error, ran
// QEMU's.
func explain(ctx context.Context, m *Machine, taken, ran error, console string) error {
	switch cause := context.Cause(ctx); {
	case taken == nil, errors.Is(taken, ErrGuest):
		return taken
	case errors.Is(cause, ErrHung):
		return fmt.Errorf("%w: ended after %s of real time; its last lines:\n%s", ErrHung, m.Wall, lastLines(console))
	case cause != nil:
		return cause
	case strings.Contains(console, panicText):
		return fmt.Errorf("%w: its last lines:\n%s", ErrPanic, lastLines(console))
	case ran != nil && m.Kernel.Program: // says why on its console: a host that forbids ptrace, for example
		return fmt.Errorf("%w; its last lines:\n%s", ran, lastLines(console))
	case ran != nil:
		return ran
	case errors.Is(taken, mailbox.ErrEmpty):
		return fmt.Errorf("the guest turned itself off without a report; its last lines:\n%s", lastLines(console))
	}
	return taken
}

const (
	panicText = "Kernel panic - not syncing"
	// shownLines: a Go or kernel trace's head, and still one screen.
	shownLines = 25
)

// lastLines are the last lines before and with a panic; after it the kernel prints
// its registers.
func lastLines(console string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(console, "\r", "")), "\n")
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, panicText) }); i >= 0 {
		lines = lines[:i+1]
	}
	lines = lines[max(0, len(lines)-shownLines):]
	if len(lines) == 1 && lines[0] == "" {
		return "  (none)"
	}
	return "  " + strings.Join(lines, "\n  ")
}
