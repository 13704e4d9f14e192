package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/fleet/store/batchlog"
	"github.com/congctl/congctl/internal/fleet/uplink"
)

const fullDiskEnv = "CONGCTL_TEST_FULL_DISK"

// TestUplinkOnAFullDisk: the disk of an agent's spool is full while the controller is away. What it holds comes once
// when the controller is back, what it did not hold is counted, and the uplink goes on.
func TestUplinkOnAFullDisk(t *testing.T) {
	if os.Getenv(fullDiskEnv) == "" {
		if os.Geteuid() != 0 {
			t.Skip("needs root: mounts a tmpfs in a mount namespace of its own; minimum kernel 2.6.16")
		}
		cmd := program("-test.run", "^TestUplinkOnAFullDisk$", "-test.v")
		cmd.Env = append(os.Environ(), fullDiskEnv+"="+t.TempDir())
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil || !strings.Contains(string(out), "--- PASS: TestUplinkOnAFullDisk") {
			t.Fatal(err)
		}
		return
	}
	fillSpool(t, os.Getenv(fullDiskEnv))
}

func fillSpool(t *testing.T, dir string) {
	check(t, unix.Mount("none", dir, "tmpfs", 0, "size=2m"))
	far, away := &uplinkSink{came: map[uint64]int{}}, true
	far.answer = func(uint64) error {
		if away {
			return errors.New("away")
		}
		return nil
	}
	log, err := batchlog.Open(batchlog.Options{Dir: filepath.Join(dir, "spool"), MaxBytes: 64 << 20, SegmentBytes: 200 << 10})
	check(t, err)
	u := uplinkOf(uplink.Options{FirstSequence: 1}, log, far)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- u.Run(ctx) }()
	const all = 40_000 // some 10 MB
	for i := range uint64(all) {
		u.Record(uplinkConn(i))
		if i%1000 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
	eventually(t, "all of it in the spool, or counted", patience, func() bool { return u.Status().QueuedBatches == 0 })
	before := u.Status()
	far.mu.Lock()
	away = false
	far.mu.Unlock()
	eventually(t, "what the spool held", patience, func() bool { n, _, _ := log.Waiting(); return n == 0 })
	for i := range uint64(500) {
		u.Record(uplinkConn(all + i))
	}
	stop()
	check(t, errors.Join(<-done, log.Close()))
	s := u.Status()
	far.mu.Lock()
	defer far.mu.Unlock()
	t.Logf("before: %d records, %d batches wait, %d dropped; after: %d came, %d dropped, %d lost", before.Records, before.WaitingBatches, before.DroppedRecords, far.conns, s.DroppedRecords, s.LostRecords)
	last, _ := log.Dropped()
	if before.DroppedRecords == 0 || before.WaitingBatches == 0 {
		t.Errorf("the disk was not full: %+v", before)
	}
	if missing := all + 500 - far.conns - int(s.DroppedRecords+s.LostRecords); missing < 0 || missing > 500 {
		t.Errorf("%d records are neither there nor counted, the last 500 may be in the spool; %d batches dropped", missing, last)
	}
	for sequence, n := range far.came {
		if n != 1 {
			t.Errorf("batch %d came %d times", sequence, n)
		}
	}
}
