package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/goodput/effects"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/kernel/popworld"
	"github.com/congctl/congctl/internal/popday/pop"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/scenarios"
)

// wrongDay is a run of a shipped day under the loop.
type wrongDay struct {
	dir    string
	facts  popworld.Facts
	events []journal.Event // oldest first
}

func runDay(t *testing.T, name string, more ...string) wrongDay {
	t.Helper()
	needMachine(t)
	dir := filepath.Join(t.TempDir(), "out")
	args := append([]string{"lab", "pop", name, "--world", worldAuto, "--policy", policyLoop, "--cache", os.Getenv(labCacheEnv), "--out", dir}, more...)
	var said bytes.Buffer
	if code := run(args, &said, &said); code != exitOK {
		t.Fatalf("congctl %s: exit code %d:\n%s", strings.Join(args, " "), code, &said)
	}
	return wrongDay{dir, factsOf(t, dir), eventsIn(t, filepath.Join(dir, popday.StoreFile))}
}

func eventsIn(t *testing.T, store string) []journal.Event {
	t.Helper()
	s, err := openDayStore(context.Background(), store)
	check(t, err)
	defer s.Close()
	list, err := s.Events(context.Background(), record.Prefix(0), 1000)
	check(t, err)
	slices.Reverse(list)
	return list
}

// after is the time of an event since the day's first moment.
func (d *wrongDay) after(e journal.Event) time.Duration {
	return time.Duration(e.At-d.facts.BeganUnixS) * time.Second
}

// of returns the events of some kinds.
func (d *wrongDay) of(kinds ...string) (list []journal.Event) {
	for _, e := range d.events {
		if slices.Contains(kinds, e.Kind) {
			list = append(list, e)
		}
	}
	return list
}

// TestLabPopHarm: a treatment that takes more than half of the rate of three listed networks shows in their control blocks.
func TestLabPopHarm(t *testing.T) {
	d := runDay(t, "harm")
	if len(d.of("selected")) != 3 || len(d.of("promoted")) > 0 {
		t.Errorf("%+v", d.events)
	}
	for _, e := range effectOfDay(t, "harm", d.dir).Estimates {
		for _, q := range e.Ratios {
			t.Logf("%s, %d pairs: %+v", e.Metric, e.Pairs, q)
			if q.Quantile == 0.5 && (q.High == 0 || q.High > 0.6) {
				t.Errorf("no harm seen: %+v", q)
			}
		}
	}
}

// TestLabPopHarmToAll: where the treatment harms two of three networks, and all are treated, the brake stops it within five hours, and
// nothing is treated from then on.
func TestLabPopHarmToAll(t *testing.T) {
	d := runDay(t, "harm-all")
	brakes := d.of("brake")
	if len(brakes) != 1 {
		t.Fatalf("%+v", d.events)
	}
	t.Logf("after %s: %s", d.after(brakes[0]), brakes[0].Text)
	before, after, end := 0, 0, d.after(brakes[0])+time.Minute // a response in progress goes on
	for _, r := range responsesOf(t, d.dir) {
		if at := time.Duration(r.StartUs) * time.Microsecond; r.Cong == "cubic" && at < end {
			before++
		} else if r.Cong == "cubic" {
			after++
		}
	}
	if before < 20 || after > 0 {
		t.Errorf("%d responses on the treatment before the brake, %d after", before, after)
	}
}

// TestLabPopAA: an experiment in which nothing is done shows nothing.
func TestLabPopAA(t *testing.T) {
	d := runDay(t, "aa")
	if len(d.of("selected")) != 3 || len(d.of("promoted", "demoted", "brake")) > 0 {
		t.Errorf("%+v", d.events)
	}
	if n := congsOf(t, d.dir, everyone); len(n) != 1 || n["cubic"] == 0 {
		t.Errorf("responses by congestion control: %v", n)
	}
	v := effectOfDay(t, "aa", d.dir)
	if len(v.AA) == 0 {
		t.Fatalf("no A/A estimate: %+v", v)
	}
	for _, e := range v.AA {
		out := 0
		for _, q := range e.Ratios {
			t.Logf("%s: %+v", e.Metric, q)
			if q.Low > 1 || q.High < 1 {
				out++
			}
		}
		// One interval in twenty leaves out the truth, and another binary draws other losses.
		if e.Pairs < 9 || out > 1 {
			t.Errorf("%d pairs, %d intervals leave out 1: %+v", e.Pairs, out, e)
		}
	}
}

// showsEffect reports whether a ratio's interval leaves out 1, and not by the one chance in
// twenty that it has: another binary draws other losses, and may not fail for them.
func showsEffect(q effects.Ratio) bool {
	return (q.Low > 1 || q.High > 0 && q.High < 1) && math.Abs(math.Log(q.Ratio)) > 0.2
}

// effectOfDay asks `congctl effect` about a run's store, as on a host.
func effectOfDay(t *testing.T, name, dir string) (v effects.View) {
	t.Helper()
	text, _ := scenarios.Days.Text(name)
	day, err := pop.Parse(name+".yml", text)
	check(t, err)
	conf, _, err := popConfig(day, policyLoop)
	check(t, err)
	state := t.TempDir()
	b, err := os.ReadFile(filepath.Join(dir, popday.StoreFile))
	check(t, err)
	check(t, os.WriteFile(storePath(config.Config{StateDir: state}), b, 0o600))
	file := filepath.Join(state, "congctl.yml")
	conf = strings.Replace(conf, "state_dir: "+popworld.StateDir, "state_dir: "+state, 1)
	conf = strings.Replace(conf, "socket: "+popworld.Socket, "socket: "+filepath.Join(state, "sock"), 1)
	check(t, os.WriteFile(file, []byte(conf), 0o600))
	var out, errs bytes.Buffer
	if code := run([]string{"effect", "-c", file, "--since", "2026-01-01T00:00:00Z", "-o", "json"}, &out, &errs); code != exitOK {
		t.Fatalf("congctl effect: exit code %d:\n%s", code, &errs)
	}
	check(t, json.Unmarshal(out.Bytes(), &v))
	return v
}

// TestLabPopRestarts: congctl is killed, paused, stopped and started, and its clock goes
// an hour forth and back. NoSelection is released or selected again for that, the plan is in
// force again after each start, a treatment that is not renewed expires, and the windows
// that a step touched are unknown. Without its store everything begins anew.
func TestLabPopRestarts(t *testing.T) {
	d := runDay(t, "restarts")
	d.events = eventsIn(t, filepath.Join(d.dir, popday.EmptiedFile))
	if len(d.of("selected")) != 2 || len(d.of("released", "retired", "demoted", "brake", "stop")) > 0 {
		t.Errorf("%+v", d.events)
	}
	if d.facts.Product == nil || d.facts.Product.Lives != 4 {
		t.Errorf("%+v", d.facts.Product)
	}
	// By the day file: paused from 83 to 93 min, a treatment lives for 6 min; kept in the
	// plan up to 124 min, when the store goes.
	expired := within(t, d.dir, 90*time.Minute, 93*time.Minute)
	kept := within(t, d.dir, 50*time.Minute, 83*time.Minute)
	again := within(t, d.dir, 93*time.Minute+30*time.Second, 103*time.Minute)
	gone := within(t, d.dir, 125*time.Minute, 130*time.Minute)
	t.Logf("responses on BBR: on trial and promoted %d, after expiry %d, after resuming %d, without a store %d", kept, expired, again, gone)
	if kept < 10 || expired > 0 || again == 0 || gone > 0 {
		t.Errorf("responses on BBR: on trial and promoted %d, after expiry %d, after resuming %d, without a store %d", kept, expired, again, gone)
	}
	steppedWindows(t, &d)
}

// within counts the responses on BBR of sessions that began in a stretch of the day.
func within(t *testing.T, dir string, from, to time.Duration) (n int) {
	t.Helper()
	in := map[int]bool{}
	for _, r := range responsesOf(t, dir) {
		at := time.Duration(r.StartUs) * time.Microsecond
		if r.Fresh {
			in[int(r.Session)] = at >= from && at < to
		}
		if in[int(r.Session)] && r.Cong == "bbr" {
			n++
		}
	}
	return n
}

// steppedWindows: the windows in which the clock was stepped are in the store, with a note.
func steppedWindows(t *testing.T, d *wrongDay) {
	t.Helper()
	s, err := openDayStore(context.Background(), filepath.Join(d.dir, popday.EmptiedFile))
	check(t, err)
	defer s.Close()
	heads, err := s.Heads(context.Background(), 0, 1<<40)
	check(t, err)
	noted := 0
	for _, h := range heads {
		if strings.Contains(h.Note, "clock") {
			noted++
		}
	}
	if noted < 2 || len(d.of("alarm-clock")) != 2 {
		t.Errorf("%d windows that a step touched, %d alarms", noted, len(d.of("alarm-clock")))
	}
}
