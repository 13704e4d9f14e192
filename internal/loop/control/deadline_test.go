package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// hung bounds a wait that must end by itself.
const hung = time.Minute

// asleep is a server that takes connections and reads none, as a stopped process
// does; wake makes it go on.
func asleep(t *testing.T, setup func(*Server)) (path string, wake func()) {
	t.Helper()
	s, err := Listen(Options{Path: t.TempDir() + "/s"})
	if err != nil {
		t.Fatal(err)
	}
	setup(s)
	return s.opt.Path, func() {
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx) }()
		t.Cleanup(func() { stop(); <-ended })
	}
}

// TestSleepingServer: nothing that was reported as not done is done once the
// server wakes, and the next request is.
func TestSleepingServer(t *testing.T) {
	var acted atomic.Int32
	path, wake := asleep(t, func(s *Server) {
		handleEcho(s)
		Handle(s.Handler, poke, func(context.Context, ask) (None, error) { acted.Add(1); return None{}, nil })
	})
	ctx, stop := context.WithTimeout(t.Context(), hung)
	defer stop()
	c := NewClient(path)
	c.Timeout = time.Second // for a busy machine to learn the server's pid
	var silent *NoAnswer
	if _, err := Ask(ctx, c, echo, ask{}); !errors.As(err, &silent) || silent.Acts || silent.PID != os.Getpid() || silent.Why != "within 1s" {
		t.Errorf("question: %#v", err)
	}
	c.Timeout = 20 * time.Millisecond
	for range 20 {
		if _, err := Ask(ctx, c, poke, ask{}); !errors.As(err, &silent) || !silent.Acts || silent.Taken {
			t.Errorf("action: %#v", err)
		}
	}
	if want := fmt.Sprintf("the running congctl (pid %d) did not answer within 20ms: nothing was changed, and nothing will be by this request", os.Getpid()); silent.Error() != want {
		t.Errorf("says %q", silent)
	}
	interrupted, now := context.WithCancel(ctx)
	now()
	c.Timeout = hung
	if _, err := Ask(interrupted, c, poke, ask{}); !errors.As(err, &silent) || silent.Taken || silent.Why != "before it was interrupted" {
		t.Errorf("interrupted: %#v", err)
	}
	wake()
	if _, err := Ask(ctx, c, poke, ask{}); err != nil {
		t.Error(err)
	}
	if n := acted.Load(); n != 1 {
		t.Errorf("acted %d times, asked with success once", n)
	}
}

// TestSleepAfterTheBody: a server that falls asleep once it has the request leaves
// the client in doubt, and the client says so.
func TestSleepAfterTheBody(t *testing.T) {
	hold := make(chan struct{})
	path := start(t, Options{}, func(s *Server) {
		Handle(s.Handler, poke, func(context.Context, ask) (None, error) { <-hold; return None{}, nil })
	})
	defer close(hold)
	c := NewClient(path)
	c.Timeout = 3 * time.Second // for a busy machine to hand the body over
	ctx, stop := context.WithTimeout(t.Context(), hung)
	defer stop()
	var silent *NoAnswer
	if _, err := Ask(ctx, c, poke, ask{}); !errors.As(err, &silent) || !silent.Taken || !strings.Contains(silent.Error(), "unknown whether") {
		t.Errorf("got %#v", err)
	}
}

// TestLateBody: the server begins nothing once the deadline has passed.
func TestLateBody(t *testing.T) {
	var log strings.Builder
	var acted atomic.Int32
	path := start(t, Options{Log: textLog(&log)}, func(s *Server) {
		Handle(s.Handler, poke, func(context.Context, ask) (None, error) { acted.Add(1); return None{}, nil })
	})
	for _, c := range []struct {
		by   string
		want string
	}{
		{fmt.Sprint(bootNs()), "deadline has passed"},
		{"soon", "no number of nanoseconds"},
		{fmt.Sprint(bootNs() + int64(hung)), " 200 "},
	} {
		request := fmt.Sprintf("POST /v1/poke HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s: %s\r\nContent-Length: 2\r\n\r\n{}", actBy, c.by)
		if got := raw(t, path, request); !strings.Contains(got, c.want) {
			t.Errorf("by %s: %q", c.by, got)
		}
	}
	if acted.Load() != 1 || !strings.Contains(log.String(), "deadline has passed") {
		t.Errorf("acted %d times:\n%s", acted.Load(), log.String())
	}
}

// TestBodyWaitsForTheServer: not a byte of an action's body leaves before the
// server's word. All that is promised rests on this.
func TestBodyWaitsForTheServer(t *testing.T) {
	path := t.TempDir() + "/s"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			heard <- err.Error()
			return
		}
		defer c.Close()
		b, _ := io.ReadAll(c) // until the client gives up
		heard <- string(b)
	}()
	c := NewClient(path)
	c.Timeout = time.Second // for a busy machine to send the head
	if _, err := Ask(t.Context(), c, poke, ask{Text: "secret"}); err == nil {
		t.Error("answered")
	}
	if got := <-heard; !strings.Contains(got, "Expect: 100-continue") || !strings.HasSuffix(got, "\r\n\r\n") || strings.Contains(got, "secret") {
		t.Errorf("the server heard %q", got)
	}
}
