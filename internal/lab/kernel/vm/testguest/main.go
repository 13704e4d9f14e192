// Command testguest is a first process for the tests of lab/kernel/vm: its job names what
// to do, from a transfer over two namespaces to a panic.
//
// It tests nothing by itself: the tests compare its output.
//
// Its trap: it must be static (CGO_ENABLED=0), as the guest has no loader; the test
// program itself, built to find races, is not.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/congctl/congctl/internal/lab/kernel/guest"
)

type job struct {
	Seed uint64 `json:"seed"`
	Task string `json:"task"`
	N    int    `json:"n"`
}

var tasks = map[string]func(j job, progress func(string)) ([]byte, error){
	"random":   func(j job, _ func(string)) ([]byte, error) { return random(j.N) },
	"bytes":    func(j job, _ func(string)) ([]byte, error) { return make([]byte, j.N), nil },
	"progress": progressLines,
	"sleep":    sleep,
	"transfer": transfer,
	"error":    func(job, func(string)) ([]byte, error) { return nil, errors.New("the link is on fire") },
	"throw":    func(job, func(string)) ([]byte, error) { panic("thrown in the job") },
	"exit":     func(job, func(string)) ([]byte, error) { os.Exit(3); return nil, nil },
	"crash": func(job, func(string)) ([]byte, error) {
		return nil, os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0)
	},
	"spin": func(_ job, progress func(string)) ([]byte, error) {
		progress("spinning")
		for {
		}
	},
}

func main() {
	if !guest.IsGuest() {
		fmt.Fprintln(os.Stderr, "testguest: runs in a machine of lab/kernel/vm only")
		os.Exit(2)
	}
	guest.Main(func(text []byte, progress func(string)) ([]byte, error) {
		var j job
		if err := json.Unmarshal(text, &j); err != nil {
			return nil, err
		}
		task, ok := tasks[j.Task]
		if !ok {
			return nil, fmt.Errorf("unknown task %q", j.Task)
		}
		return task(j, progress)
	})
}

func random(n int) ([]byte, error) {
	f, err := os.Open("/dev/urandom")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	_, err = f.Read(b)
	return fmt.Appendf(nil, "%x", b), err
}

// progressLines are an hour apart, on the guest's clock.
func progressLines(j job, progress func(string)) ([]byte, error) {
	for i := range j.N {
		progress(fmt.Sprintf("line %d", i))
		time.Sleep(time.Hour)
	}
	return nil, nil
}

// sleep measures how late timers of the guest are: the worst of n sleeps of a millisecond.
func sleep(j job, _ func(string)) ([]byte, error) {
	var worst time.Duration
	for range j.N {
		started := time.Now()
		time.Sleep(time.Millisecond)
		worst = max(worst, time.Since(started)-time.Millisecond)
	}
	return json.Marshal(worst)
}
