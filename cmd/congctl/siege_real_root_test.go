package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// siegeWindow is long enough that a busy machine keeps half of it.
const siegeWindow = 10 * time.Second

const siegeEnv = "CONGCTL_SIEGE"

// siegeIsMeasured reports whether the times in the log are to be taken for a controller's. All others compute then only while nothing else
// does (SCHED_IDLE): in a fleet they are on machines of their own. Beside the rest of CI they would have no time at all.
func siegeIsMeasured() bool { return os.Getenv(siegeEnv) != "" }

// siegeTime is how long TestSiege takes: a minute, or CONGCTL_SIEGE. A fifth of it is quiet.
func siegeTime(t *testing.T) time.Duration {
	text := os.Getenv(siegeEnv)
	if text == "" {
		return time.Minute
	}
	d, err := time.ParseDuration(text)
	check(t, err)
	return max(d, time.Minute)
}

// TestSiege: a hostile agent, a hostile client of Kafka, a local user and a stranger at once, beside two honest hosts that push to a
// controller and one whose records go through Kafka. Every window has its round with every honest record in it, every honest
// message is in ClickHouse, and nothing hostile is. How long an honest push takes, before and beside them, is in the test's log.
func TestSiege(t *testing.T) {
	length := siegeTime(t)
	p := newPipeline(t)
	p.cfg.BatchWait = 200 * time.Millisecond
	for _, pid := range []int{p.start().Process.Pid, p.broker.PID(), p.server.PID()} {
		if siegeIsMeasured() {
			check(t, exec.Command("chrt", "--all-tasks", "--idle", "--pid", "0", fmt.Sprint(pid)).Run())
		}
	}
	cfg := settingsOf(siegeWindow)
	cfg.Metrics = freePort(t)
	f := newFleetOf(t, cfg, "")
	s := &allAtOnce{fleet: f, t: t, pipe: p, sent: map[int64]int{}, day: time.Now().Unix() / 300 * 300}
	beginWindow(siegeWindow)
	ctx, stop := context.WithCancel(t.Context())
	for i := range 2 {
		h := f.puppet(fmt.Sprint("edge-", i+1))
		s.run(ctx, func(ctx context.Context) { s.honest(ctx, h, byte(i+1)) })
	}
	s.run(ctx, s.throughKafka)
	for cycle := min(length, siegeCycle); length >= cycle; length -= cycle {
		s.phase.Store(quiet)
		time.Sleep(cycle / 5)
		s.phase.Store(besieged)
		s.besiege(cycle * 4 / 5)
	}
	stop()
	s.all.Wait()
	s.judge()
}

// siegeCycle is a quiet part and one beside the enemies, four times as long: with other work on the machine both have it.
const siegeCycle = 5 * time.Minute

// The phases of a cycle. What the enemies leave behind is awaited before the next quiet part, and counts for neither.
const (
	quiet = iota
	besieged
	settling
)

// besiege runs all enemies at once, in a process of their own.
func (s *allAtOnce) besiege(length time.Duration) {
	self, err := os.Executable()
	check(s.t, err)
	task, err := json.Marshal(enemies{URL: s.url, Page: s.cfg.Metrics, Files: s.authority.Issue(eve), Kafka: s.pipe.cfg.Kafka, Day: s.day, Length: length})
	check(s.t, err)
	cmd := exec.Command(self)
	if siegeIsMeasured() {
		cmd = exec.Command("chrt", "--idle", "0", self)
	}
	cmd.Env = append(os.Environ(), asEnv+"=enemies")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(task), s.t.Output()
	time.AfterFunc(length, func() { s.phase.Store(settling) })
	out, err := cmd.Output()
	check(s.t, err)
	tries, err := strconv.Atoi(string(out))
	check(s.t, err)
	s.tries += tries
}

// allAtOnce is what the parts of the test share.
type allAtOnce struct {
	*fleet
	t     *testing.T
	pipe  *pipeline
	phase atomic.Int32
	tries int   // of the enemies
	day   int64 // the window of all records through Kafka

	all  sync.WaitGroup
	mu   sync.Mutex    // guards all below
	sent map[int64]int // honest records, by window
	took [2][]time.Duration
	kept int // honest records through Kafka
}

func (s *allAtOnce) run(ctx context.Context, part func(context.Context)) {
	s.all.Go(func() { part(ctx) })
}

// every calls do until ctx ends, with a pause after each.
func every(ctx context.Context, pause time.Duration, do func()) {
	for ctx.Err() == nil {
		do()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// honest pushes a few records five times a second, and says at each window's end that it is whole.
func (s *allAtOnce) honest(ctx context.Context, h *puppet, boot byte) {
	const each = 5
	head := wire.Header{PoP: "chi", Host: h.name, Boot: record.BootID{boot}}
	window := int64(0)
	push := func(start int64, n int, ends ...wire.WindowEnd) {
		head.Sequence++
		head.Ends = ends
		frame := batchOf(s.t, head, start, n)
		began, phase := time.Now(), s.phase.Load()
		if err := h.c.Send(context.WithoutCancel(ctx), frame); err != nil {
			s.t.Errorf("an honest push of %s: %v", h.name, err)
			return
		}
		s.pushed(start, n, phase, time.Since(began))
	}
	every(ctx, 200*time.Millisecond, func() {
		now := time.Now().Unix() / int64(siegeWindow/time.Second) * int64(siegeWindow/time.Second)
		if window != 0 && now != window {
			push(now, each, wire.WindowEnd{Start: window, DefaultCongs: []string{"cubic"}})
		} else {
			push(now, each)
		}
		window = now
	})
	time.Sleep(time.Until(time.Unix(window, 0).Add(siegeWindow + 300*time.Millisecond)))
	push(window, 0, wire.WindowEnd{Start: window, DefaultCongs: []string{"cubic"}})
}

func (s *allAtOnce) pushed(window int64, n int, phase int32, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent[window] += n
	if int(phase) < len(s.took) {
		s.took[phase] = append(s.took[phase], took)
	}
}

// throughKafka sends a message a second, of one window.
func (s *allAtOnce) throughKafka(ctx context.Context) {
	rng := rand.New(rand.NewPCG(1, 2))
	h := wire.Header{Boot: record.BootID{7}, Host: "edge-k", PoP: "ams"}
	every(ctx, time.Second, func() {
		h.Sequence++
		conns := []record.Conn{batchtest.Client(rng, s.day), batchtest.Client(rng, s.day)}
		s.pipe.send("ams", []batchtest.Batch{batchtest.New(s.t, h, conns...)})
		s.mu.Lock()
		s.kept += len(conns)
		s.mu.Unlock()
	})
}

// judge compares what was sent with what was decided and kept.
func (s *allAtOnce) judge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	windows := make([]int64, 0, len(s.sent))
	want := 0
	for w, n := range s.sent {
		windows = append(windows, w)
		want += n
	}
	slices.Sort(windows)
	of := uplinkConn(0).Prefix // 203.0.113.0/24: the hostile agent has the next
	eventually(s.t, "a round of the last window", wholeTime, func() bool {
		return slices.ContainsFunc(s.rowsOf(s.dir+"/state/pops/chi/congctl.db"), func(w record.Window) bool { return w.Start == windows[len(windows)-1] })
	})
	rounds := map[int64]int{}
	for _, w := range s.rowsOf(s.dir + "/state/pops/chi/congctl.db") {
		if w.Prefix == of {
			rounds[w.Start] += int(w.Conns)
		}
	}
	for _, w := range windows {
		if rounds[w] != s.sent[w] {
			s.t.Errorf("window %d: %d of %d honest records in its round", w, rounds[w], s.sent[w])
		}
	}
	if have := s.pipe.until([]string{"ams"}, s.day, s.kept); have != s.kept {
		s.t.Errorf("%d records of the window in ClickHouse, %d honest ones were sent", have, s.kept)
	}
	longest := 0
	for line := range strings.Lines(s.log.String()) {
		longest = max(longest, len(line))
	}
	if longest > 500 {
		s.t.Errorf("a line of %d bytes in the controller's log", longest)
	}
	s.t.Logf("%d windows with %d honest records, %d through Kafka; %d hostile tries; the controller's log has %d bytes, its memory %d kB at most", len(windows), want, s.kept,
		s.tries, len(s.log.String()), s.peakKB())
	for i, name := range []string{"quiet", "besieged"} {
		all := s.took[i]
		slices.Sort(all)
		s.t.Logf("%s: %d honest pushes, median %s, p99 %s, longest %s", name, len(all), all[len(all)/2], all[len(all)*99/100], all[len(all)-1])
	}
}
