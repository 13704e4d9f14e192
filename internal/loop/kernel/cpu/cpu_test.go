package cpu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, dir string, idle, steal, running uint64) {
	t.Helper()
	stat := fmt.Sprintf("cpu  100 0 100 %d 0 0 0 %d 0 0\ncpu0 1 2 3\ncpu1 1 2 3\nprocs_running %d\n", idle, steal, running)
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestStarved(t *testing.T) {
	dir := t.TempDir()
	m := NewMeter(dir, Limits{StealShare: 0.10, RunQueuePerCPU: 3})
	for i, c := range []struct {
		idle, steal, running uint64
		want                 string
	}{
		{1000, 900, 1, ""}, // five calls say nothing
		{1010, 990, 1, ""},
		{1020, 990, 1, ""},
		{1120, 990, 1, ""},
		{1220, 990, 1, ""},
		{1320, 990, 1, ""},          // the sixth has no older one to compare with
		{1420, 990, 1, "steal"},     // 90 of 510 jiffies since the first
		{1520, 990, 1, ""},          // none since the second
		{1620, 991, 31, ""},         // one sample of 15 a CPU says little
		{1720, 991, 31, "runnable"}, // mean 30/6 = 5
		{1820, 991, 1, "runnable"},
		{1920, 991, 1, "runnable"},
		{2020, 991, 1, "runnable"},
		{2120, 991, 1, "runnable"},
		{2220, 991, 1, ""}, // mean 15/6 = 2.5
	} {
		write(t, dir, c.idle, c.steal, c.running)
		got, err := m.Starved()
		if err != nil {
			t.Fatal(err)
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("call %d: %q, want %q", i, got, c.want)
		}
	}
}

func TestStarvedRefusesNonsense(t *testing.T) {
	dir := t.TempDir()
	m := NewMeter(dir, Limits{})
	if _, err := m.Starved(); err == nil {
		t.Error("no file accepted")
	}
	for _, text := range []string{"", "nonsense", "cpu a b c d e f g h\ncpu0 1\n", "cpu 1 1 1 1 1 1 1 1\ncpu0 1\nprocs_running x\n"} {
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Starved(); err == nil {
			t.Errorf("%q accepted", text)
		}
	}
}

func TestStarvedOnThisHost(t *testing.T) {
	m := NewMeter("/proc", Limits{StealShare: 1, RunQueuePerCPU: 1e9})
	for range 2 {
		if why, err := m.Starved(); err != nil || why != "" {
			t.Fatalf("%q, %v", why, err)
		}
	}
}

// writeOwn sets what two threads of this process ran and waited, in milliseconds each.
func writeOwn(t *testing.T, dir string, ran, waited int) {
	t.Helper()
	for _, thread := range []string{"7", "8"} {
		at := filepath.Join(dir, "self", "task", thread)
		text := fmt.Sprintf("%d %d 5\n", ran*1e6, waited*1e6)
		if err := errors.Join(os.MkdirAll(at, 0o700), os.WriteFile(filepath.Join(at, "schedstat"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStarvedOnlyWhereItWaits: a long run queue is no shortage where this process got a processor when it wanted one.
func TestStarvedOnlyWhereItWaits(t *testing.T) {
	for name, c := range map[string]struct {
		ran, waited int // more at each call, ms
		want        bool
	}{
		"idle work gives way":           {10, 0, false},
		"niced work nearly does":        {10, 15, false},
		"two equals a processor":        {10, 19, false},
		"four equals a processor":       {10, 30, true},
		"never on a processor":          {0, 30, true},
		"counters went back, one ended": {10, -3, true},
	} {
		dir := t.TempDir()
		m := NewMeter(dir, Limits{StealShare: 0.10, RunQueuePerCPU: 3})
		var got string
		for i := range samples {
			write(t, dir, uint64(1000+100*i), 900, 15) // seven others a processor
			writeOwn(t, dir, 100+c.ran*i, 100+c.waited*i)
			var err error
			if got, err = m.Starved(); err != nil {
				t.Fatal(err)
			}
		}
		if (got != "") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	// Steal counts whatever the queue is.
	dir := t.TempDir()
	m := NewMeter(dir, Limits{StealShare: 0.10, RunQueuePerCPU: 3})
	var got string
	for i := range samples + 1 {
		write(t, dir, 1000, uint64(900+100*i), 15)
		writeOwn(t, dir, 100+10*i, 100)
		got, _ = m.Starved()
	}
	if !strings.Contains(got, "steal") {
		t.Errorf("stolen time: %q", got)
	}
}
