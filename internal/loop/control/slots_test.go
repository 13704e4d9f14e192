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
	root, ann, bob := Holder{"root", true}, Holder{Name: "ann"}, Holder{Name: "bob"}
	idle := func(h Holder) *slot { return &slot{holder: h} }
	asks := func(h Holder) *slot { return &slot{holder: h, asks: true} }
	for name, c := range map[string]struct {
		open []*slot
		want int
	}{
		"one holder":            {[]*slot{idle(root), idle(root)}, 0},
		"the one that has most": {[]*slot{idle(ann), idle(bob), idle(bob)}, 1},
		"the oldest":            {[]*slot{idle(ann), idle(bob)}, 0},
		"root last":             {[]*slot{idle(root), idle(root), asks(bob)}, 2},
		"an idle one":           {[]*slot{asks(bob), idle(bob), idle(bob)}, 1},
		"most before idle":      {[]*slot{idle(ann), asks(bob), asks(bob)}, 1},
		"the oldest that asks":  {[]*slot{asks(bob), asks(bob)}, 0},
		"unknown ones are one":  {[]*slot{idle(ann), idle(Holder{}), idle(Holder{}), idle(root)}, 1},
	} {
		if got := crowd(c.open); got != c.open[c.want] {
			t.Errorf("%s: %+v goes", name, got.holder)
		}
	}
}
