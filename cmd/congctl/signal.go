package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// wholly are the verbs that a signal does not cut short. up and agent close their window, answer running
// requests and detach their program, within five seconds, and agent and ingest keep what is on its way; a controller
// ends its streams. The others change the host step by
// step, and end on their own with all steps made or all undone. A process that dies between
// two steps leaves that to the next one.
var wholly = []string{
	"up", "agent", "controller", "ingest", "host enable", "host disable", "shape set", "shape clear", "shape confirm", "shape revert",
}

// endAfterSignal is how long a verb has to end in its own way: half of the 2 s that the pages
// promise, the other half is a busy host's.
const endAfterSignal = time.Second

// signalled returns a context that ends with the first SIGINT or SIGTERM. A verb that does not
// look at its context, since it waits for a file, a person or a full pipe, is then ended; a
// second signal ends it at once.
func signalled(verb string) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM)
	go func() {
		var s os.Signal
		select {
		case <-ended:
			return
		case s = <-signals:
		}
		cancel()
		if slices.Contains(wholly, verb) {
			return
		}
		signal.Stop(signals)
		select {
		case <-ended:
		case <-time.After(endAfterSignal):
			os.Exit(endedBy(s))
		}
	}()
	return ctx, func() { signal.Stop(signals); close(ended); cancel() }
}

// endedBy is the exit code that a shell shows of a program that a signal ended.
func endedBy(s os.Signal) int { return 128 + int(s.(syscall.Signal)) }
