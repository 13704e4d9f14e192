package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSignalsEndEachVerb: a verb that waits, for input, a person, time or a full pipe, ends by
// itself after SIGINT or SIGTERM; the test's patience is the only limit here, the pages say 2 s.
func TestSignalsEndEachVerb(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "c.yml")
	check(t, os.WriteFile(conf, []byte("pop: edge1\nstate_dir: "+dir+"\nsocket: "+dir+"/sock\n"), 0o600))
	for _, c := range []struct {
		verb string
		full bool // of a pipe that takes no more
	}{
		{verb: "simulate --history -"},
		{verb: "status --wait 10m -c " + conf},
		{verb: "simulate --synthetic --prefixes 20000 --hours 720"},
		{verb: "config show -c " + conf, full: true},
		{verb: "help lab run", full: true},
	} {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(c.verb+" "+s.String(), func(t *testing.T) {
				t.Parallel()
				cmd := program(strings.Fields(c.verb)...)
				in, err := cmd.StdinPipe()
				check(t, err)
				defer in.Close()
				var said bytes.Buffer
				cmd.Stderr = &said
				if c.full {
					cmd.Stdout = fullPipe(t)
				}
				check(t, cmd.Start())
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				time.Sleep(time.Second) // until it waits; where it does not yet, this tests less
				check(t, cmd.Process.Signal(s))
				select {
				case <-ended:
				case <-time.After(patience):
					t.Errorf("goes on after %s", s)
					_ = cmd.Process.Kill()
					<-ended
				}
				if cmd.ProcessState.Success() {
					t.Errorf("ended well: %s", &said)
				}
			})
		}
	}
}

// fullPipe returns the end of a pipe that takes no more.
func fullPipe(t *testing.T) *os.File {
	r, w, err := os.Pipe()
	check(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	check(t, w.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = io.Copy(w, neverEnds{})
	if !os.IsTimeout(err) {
		t.Fatal(err)
	}
	check(t, w.SetWriteDeadline(time.Time{}))
	return w
}

type neverEnds struct{}

func (neverEnds) Read(b []byte) (int, error) { return len(b), nil }

// TestWholly: each verb that a signal does not cut short exists.
func TestWholly(t *testing.T) {
	for _, name := range wholly {
		verb, rest, err := newRoot().Find(strings.Fields(name))
		if err != nil || len(rest) > 0 || !slices.Equal(strings.Fields(nameOf(verb)), strings.Fields(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
