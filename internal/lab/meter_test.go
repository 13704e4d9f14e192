package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/outcome"
)

// stopwatch is a clock that only the test moves.
type stopwatch struct{ at time.Time }

func (s *stopwatch) now() time.Time         { return s.at }
func (s *stopwatch) after(d time.Duration)  { s.at = s.at.Add(d) }
func ran(virtual, wall time.Duration) Facts { return Facts{Virtual: virtual, Wall: wall} }
func good(cell string) outcome.Result       { return outcome.Result{Cell: cell, Seed: 1, Valid: true} }
func bad(cell, got, w string) outcome.Result {
	return outcome.Result{Cell: cell, Seed: 1, Gates: []outcome.Gate{{Name: "loss", Got: got, Want: w}}}
}

// story is a run of three cells, one kept from an earlier run, one without its loss.
func story(m *Meter, clock *stopwatch) {
	m.end(turn{0, 0}, good("loss=0%/bbr"), Facts{}, 2)
	progress := m.begin(turn{1, 0}, 2)
	clock.after(5 * time.Second)
	progress(40 * time.Second)
	progress(41 * time.Second) // too soon to draw again
	clock.after(15 * time.Second)
	m.end(turn{1, 0}, good("loss=1%/bbr"), ran(90*time.Second, 20*time.Second), 1)
	m.begin(turn{2, 0}, 1)
	clock.after(10 * time.Second)
	m.end(turn{2, 0}, bad("loss=1%/cubic", "0 of 1400 lost", "1 %"), ran(125*time.Second, 10*time.Second), 0)
	progress(time.Hour) // late: its run has ended
	m.Close()
}

func TestMeterOnATerminal(t *testing.T) {
	var b strings.Builder
	clock := &stopwatch{at: time.Unix(1000, 0)}
	story(NewMeter("quick", &b, true, clock.now), clock)
	want := []string{
		"quick [########................] 1/3 runs, 0s virtual, - real time",
		"quick [########................] 1/3 runs, 40s virtual, 8.0 x real time",
		"quick [################........] 2/3 runs, 1m30s virtual, 4.5 x real time, about 20s left",
		"3/3 loss=1%/cubic seed 1: 2m5s virtual in 10s (12.5 x real time); INVALID: loss is 0 of 1400 lost, wanted 1 %\n",
		"quick [########################] 3/3 runs, 3m35s virtual, 7.2 x real time, 1 INVALID",
		"quick [########################] 3/3 runs, 3m35s virtual, 7.2 x real time, 1 INVALID\n",
	}
	if got := strings.Split(b.String(), "\r\033[K"); strings.Join(got, "|") != "|"+strings.Join(want, "|") {
		t.Errorf("drawn:\n%q\nwant:\n%q", got, want)
	}
}

func TestMeterInAFile(t *testing.T) {
	var b strings.Builder
	clock := &stopwatch{at: time.Unix(1000, 0)}
	story(NewMeter("quick", &b, false, clock.now), clock)
	want := "1/3 loss=0%/bbr seed 1: kept from an earlier run\n" +
		"2/3 loss=1%/bbr seed 1: 1m30s virtual in 20s (4.5 x real time)\n" +
		"3/3 loss=1%/cubic seed 1: 2m5s virtual in 10s (12.5 x real time); INVALID: loss is 0 of 1400 lost, wanted 1 %\n"
	if b.String() != want {
		t.Errorf("written:\n%s\nwant:\n%s", b.String(), want)
	}
}
