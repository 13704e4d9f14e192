// Command congctl-demo shows congctl's closed loop on one host: it makes an edge
// and 24 client networks of network namespaces, runs a real HTTP server and real
// downloads through them, lets `congctl up` find the slow networks and treat them,
// and prints what the kernel says came of it.
//
// It proves the mechanism and not the benefit: token buckets on one machine are not
// the Internet.
//
// Its trap: time is compressed a hundredfold (windows of 3 s), so no level that it
// prints compares with anything outside of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Exit codes.
const (
	exitKept   = 0
	exitFailed = 1 // a promise was not kept, or the demo could not run
	exitUsage  = 2
	exitSignal = 130 // as a shell reports an interrupt
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if err := serve(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "congctl-demo serve:", err)
			os.Exit(exitFailed)
		}
		return
	}
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	flags := flag.NewFlagSet("congctl-demo", flag.ContinueOnError)
	binary := flags.String("congctl", besides("congctl"), "the congctl to show")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "congctl-demo [-congctl PATH]: the closed loop on 24 client networks of this machine (docs/demo-host.md)\n\nexample: sudo congctl-demo -congctl bin/congctl")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return exitUsage
	}
	if err := possible(*binary); err != nil {
		fmt.Fprintln(os.Stderr, "congctl-demo:", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	return play(ctx, *binary, newScreen())
}

// besides is a program in our own directory.
func besides(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}

// possible says what is missing before anything is made.
func possible(binary string) error {
	if os.Geteuid() != 0 {
		return errors.New("needs root, for network namespaces and eBPF: sudo make demo-host")
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("find congctl: %w; build it with `make build`, or name it with -congctl", err)
	}
	return nil
}

// play runs the show, takes it down whatever happened, and gives the exit code.
func play(ctx context.Context, binary string, scr *screen) int {
	dir, err := makeDir()
	if err != nil {
		fmt.Fprintln(os.Stderr, "congctl-demo:", err)
		return exitFailed
	}
	s := &show{screen: scr, book: newBook(), dir: dir, begun: time.Now()}
	err = s.run(ctx, binary)
	interrupted := ctx.Err() != nil
	if interrupted {
		scr.say("interrupted: cleaning up")
		err = nil
	}
	closeErr := s.close()
	kept := false
	if err == nil && !interrupted {
		kept = s.report()
	}
	left := s.leftovers()
	scr.say("\n%s (%.0f s)", leftText(left), time.Since(s.begun).Seconds())
	if err := errors.Join(err, closeErr); err != nil {
		fmt.Fprintln(os.Stderr, "congctl-demo:", err)
	}
	switch {
	case interrupted:
		return exitSignal
	case !kept || err != nil || closeErr != nil || len(left) > 0:
		return exitFailed
	}
	return exitKept
}

// report prints the table and the promises.
func (s *show) report() (kept bool) {
	var all []verdict
	for _, n := range s.edge.list {
		all = append(all, s.book.verdictOf(n))
	}
	s.screen.title("What the kernel ran")
	s.screen.say("(TCP_CONGESTION of the server's sockets at the end of each response: so many of so many as the plan demands. Large\nresponses by what was in force while they ran, small ones at any time.)\n")
	_ = printTable(s.screen.out, all, s.rows)
	s.screen.title("Before and after, medians: no evidence of anything")
	s.screen.say("(Networks chosen for being slow change without any treatment; control blocks are what tells.%s)\n", s.edge.littleToWin())
	_ = printChange(s.screen.out, all)
	s.screen.title("Promises")
	return s.screen.tell(promisesOf(all))
}
