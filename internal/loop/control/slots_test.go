package control

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// TestFloodLeavesRoom: many idle connections, and the newest still gets its answer; the server
// has closed all but a few.
func TestFloodLeavesRoom(t *testing.T) {
	path := start(t, Options{Patience: time.Hour}, handleEcho)
	const flood = 300
	var idle []net.Conn
	for range flood {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	c := NewClient(path)
	c.Timeout = time.Minute
	if got, err := Ask(t.Context(), c, echo, ask{Text: "a"}); err != nil || got.Text != "a" {
		t.Fatalf("behind a flood: %+v, %v", got, err)
	}
	// The last one was accepted before the request, so the first ones are closed by now.
	for i, c := range idle[:flood-maxConns] {
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Fatalf("connection %d of %d is still open: %v", i, flood, err)
		}
	}
	left := 0
	for _, c := range idle[flood-maxConns:] {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			left++
		}
	}
	if left < maxConns-1 {
		t.Errorf("%d of %d connections were left open", left, maxConns)
	}
}

func TestWhoGoesForANewConnection(t *testing.T) {
	of := func(uid uint32, pid int32) *slot { return &slot{peer: Peer{PID: pid, UID: uid}} }
	for name, c := range map[string]struct {
		open []*slot
		want int
	}{
		"one process":           {[]*slot{of(0, 1), of(0, 1)}, 0},
		"the one that has most": {[]*slot{of(7, 1), of(7, 2), of(7, 2)}, 1},
		"the oldest":            {[]*slot{of(7, 1), of(7, 2)}, 0},
		"root last":             {[]*slot{of(0, 1), of(0, 1), of(7, 2)}, 2},
		"another user":          {[]*slot{of(8, 1), of(7, 2), of(7, 2), of(0, 3)}, 1},
	} {
		if got := crowd(c.open); got != c.open[c.want] {
			t.Errorf("%s: %+v goes", name, got.peer)
		}
	}
}
