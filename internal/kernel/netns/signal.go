package netns

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// CloseOnSignal closes c when SIGINT or SIGTERM comes, and then lets the signal
// end the process as it would have. Call stop once c is closed otherwise. For
// programs that have no signal handling of their own.
func CloseOnSignal(c io.Closer) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	quit := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			_ = c.Close() // nobody is left to tell
			signal.Reset(s)
			_ = syscall.Kill(os.Getpid(), s.(syscall.Signal))
		case <-quit:
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(signals)
		close(quit)
	})
}
