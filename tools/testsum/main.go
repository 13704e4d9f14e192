// Command testsum reads the output of "go test -json" and prints what a person needs: the
// output of failures, why tests were skipped and how many, and one line of counts.
//
// It runs no test, except with -again: a few that failed get a second look, alone. Its
// trap: a package that does not build has no test events; it counts as one failure, so
// that an empty run never looks green.
//
// gotestsum prints each of 400 skips with its output, and no counts by reason or over
// several runs, which is what this is for.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	tier := flag.String("tier", "tests", "name of the run, printed before its counts")
	counts := flag.String("counts", "", "file to append \"tier<TAB>passed<TAB>failed<TAB>skipped<TAB>flaky<TAB>what failed\" to")
	again := flag.Int("again", 0, "run the failed tests once more, alone, if no more than so many failed")
	flag.Parse()
	sum, err := read(os.Stdin)
	if err == nil {
		err = sum.lookAgain(*again, runAlone)
	}
	if err == nil {
		sum.print(os.Stdout, *tier)
		err = appendCounts(*counts, *tier, sum)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(2)
	}
	if sum.failed > 0 || sum.packages == 0 {
		os.Exit(1)
	}
}

func read(r io.Reader) (*summary, error) {
	sum := newSummary()
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 16<<20) // one event carries one line of test output; goldens can be long
	for sc.Scan() {
		sum.line(sc.Bytes())
	}
	for k := range sum.running { // the stream ended in the middle
		sum.crash(k)
	}
	return sum, sc.Err()
}

func appendCounts(name, tier string, s *summary) error {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	fmt.Fprintf(f, "%s\t%d\t%d\t%d\t%d\t%s\n", tier, s.passed, s.failed, s.skipped, len(s.flaky), s.failures())
	return f.Close()
}
