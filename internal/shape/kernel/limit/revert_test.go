package main

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/shape"
)

// TestRevertEndedAtOnce: from when it says that it waits, whoever ends it has the limit
// taken back.
func TestRevertEndedAtOnce(t *testing.T) {
	root := t.TempDir()
	check(t, os.Mkdir(root+"/changes", 0o755))
	h, err := shape.NewHost(root, "/changes")
	check(t, err)
	check(t, h.Guarded(shape.Pending{Link: "eth0"}, time.Hour, func(string) error { return nil })("7"))
	check(t, revertUnless(h, "eth0", "7", time.Hour, func() { check(t, unix.Kill(os.Getpid(), unix.SIGTERM)) }))
	if p, err := h.Waits("eth0"); p != nil || err != nil {
		t.Errorf("still waits: %+v, %v", p, err)
	}
}
