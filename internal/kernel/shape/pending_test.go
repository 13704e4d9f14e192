package shape

import (
	"os"
	"testing"
	"time"
)

// TestTornNote: what a power cut left of a note stops nobody, and is no limit that waits.
func TestTornNote(t *testing.T) {
	h, err := NewHost(t.TempDir(), "/var/lib/changes")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(h.Root+h.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"", `{"link":"eth0","id":"0000`} {
		if err := os.WriteFile(h.pendingPath("eth0"), []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := h.Waits("eth0", time.Now()); p != nil || err != nil {
			t.Errorf("%q: %+v, %v", left, p, err)
		}
	}
	now := time.Now()
	if err := h.Await(Pending{Link: "eth0", ID: "7", Until: now.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if p, err := h.Waits("eth0", now); p == nil || err != nil || p.ID != "7" {
		t.Errorf("a whole one: %+v, %v", p, err)
	}
}
