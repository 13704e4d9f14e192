package world

import (
	"strings"
	"testing"
	"time"
)

func TestIdleTime(t *testing.T) {
	idle, cpus, err := idleTime("cpu  9 9 9 9 9 9 0 0\ncpu0 1 2 3 250 50 6 7 0 0 0\ncpu1 1 2 3 100 0 6 7 0 0 0\nintr 5 4 3 2 1 0\n")
	if err != nil || idle != 4*time.Second || cpus != 2 {
		t.Errorf("got %v of %d, %v", idle, cpus, err)
	}
	for _, bad := range []string{"", "intr 1 2 3 4 5 6\n", "cpu0 1 2 3 x 5 6\n"} {
		if _, _, err := idleTime(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
}

func TestSoftnetDropped(t *testing.T) {
	n, err := softnetDropped([]byte("0000f1 00000010 0\n00001 00000002 0\n"))
	if err != nil || n != 18 {
		t.Errorf("got %d, %v", n, err)
	}
	for _, bad := range []string{"1\n", "1 zz\n"} {
		if _, err := softnetDropped([]byte(bad)); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
}

func TestBusyShare(t *testing.T) {
	start := load{at: time.Unix(100, 0), idle: 50 * time.Second, cpus: 2, dropped: 3}
	end := load{at: time.Unix(110, 0), idle: 65 * time.Second, cpus: 2, dropped: 5}
	h := end.since(start)
	if h.BusyShare != 0.25 || h.SoftnetDropped != 2 || h.DurationUs != 10_000_000 {
		t.Errorf("got %+v", h)
	}
}

// Each line names what is missing first, and a way to get it or the reason.
func TestMissing(t *testing.T) {
	for _, line := range lacking(parts) {
		name, rest, ok := strings.Cut(line, ": ")
		if !ok || name == "" || len(rest) < 20 {
			t.Errorf("line %q", line)
		}
	}
}
