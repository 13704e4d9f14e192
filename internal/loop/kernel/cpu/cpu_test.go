package cpu

import (
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
