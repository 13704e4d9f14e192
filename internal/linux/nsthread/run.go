// Package nsthread runs functions on a thread of another network namespace: the
// only place of the project that moves a thread.
//
// It makes no namespace and finds none: see linux/netns and linux/sample.
//
// Its trap: only what runs on that very goroutine is in the namespace; goroutines
// that fn starts are not. What fn opens stays bound to the namespace.
package nsthread

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Own is the namespace of the calling thread. /proc/self/ns/net would be the main
// thread's.
const Own = "/proc/thread-self/ns/net"

// ErrLeft means that the function never returned.
var ErrLeft = errors.New("function ended its goroutine inside the namespace (t.Fatal or runtime.Goexit)")

// Run runs fn on a thread in the network namespace of the open file fd. It needs
// CAP_SYS_ADMIN. A panic of fn is the caller's.
func Run(fd int, fn func() error) error {
	return Keep(func() error {
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		return fn()
	})
}

// Keep runs fn, which may move its thread to another namespace, and restores the thread's
// own. A thread that cannot be restored is not unlocked: the runtime ends it with its
// goroutine, so that no other goroutine ever runs in a foreign namespace. Ending every
// thread would be simpler, but a child process with a death signal dies with the thread
// that started it.
func Keep(fn func() error) (err error) {
	done := make(chan any, 1)
	err = ErrLeft
	go func() {
		var thrown any
		defer func() { done <- thrown }()
		runtime.LockOSThread()
		home, openErr := os.Open(Own)
		if openErr != nil {
			err = fmt.Errorf("open own network namespace: %w", openErr)
			runtime.UnlockOSThread()
			return
		}
		defer home.Close()
		defer func() {
			thrown = recover()
			if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
				runtime.UnlockOSThread()
			}
		}()
		err = fn()
	}()
	if thrown := <-done; thrown != nil {
		panic(thrown)
	}
	return err
}
