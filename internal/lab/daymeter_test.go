package lab

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/core/pop"
)

// dayStory is one run kept from before, two side by side of which one breaks.
func dayStory(m *DayMeter, clock *stopwatch) {
	m.end(passed{DayRun: DayRun{"bbr", 1}})
	cubic, _ := m.begin(DayRun{"cubic", 1})
	loop, note := m.begin(DayRun{"loop", 1})
	clock.after(20 * time.Second)
	cubic(pop.Progress{At: 12 * time.Minute, End: 4 * time.Hour, Responses: 900, Large: 200, Selected: pop.Nobody})
	loop(pop.Progress{At: time.Minute, End: 4 * time.Hour, Selected: 0}) // too soon to draw again
	clock.after(40 * time.Second)
	loop(pop.Progress{At: 48 * time.Minute, End: 4 * time.Hour, Responses: 4000, Large: 1000, Selected: 3})
	note("fault: kill")
	m.end(passed{DayRun: DayRun{"cubic", 1}, err: errors.New("run guest: guest hung: its last lines:\n  x")})
	clock.after(time.Minute)
	m.end(passed{DayRun: DayRun{"loop", 1}, facts: Facts{Virtual: 241 * time.Minute, Wall: 2 * time.Minute, CPU: 100 * time.Second}})
	m.Close()
}

func TestDayMeterOnATerminal(t *testing.T) {
	var b strings.Builder
	clock := &stopwatch{at: time.Unix(1000, 0)}
	dayStory(NewDayMeter("demo", 3, &b, true, 0, clock.now), clock)
	const up = "\r\033[K\033[1A"
	want := []string{
		"1/3 bbr-1: kept from before\n",
		"demo [########................] 1/3 days, 0s virtual, - real time",
		"demo [########................] 1/3 days, 12m0s virtual, 36.0 x real time" +
			"\n  cubic-1    12m0s of 4h0m0s: 900 responses, 200 large, 0 broken" +
			"\n  loop-1     begins" + up + up,
		"demo [##########..............] 1/3 days, 1h0m0s virtual, 60.0 x real time, about 7m0s left" +
			"\n  cubic-1    12m0s of 4h0m0s: 900 responses, 200 large, 0 broken" +
			"\n  loop-1     48m0s of 4h0m0s: 4000 responses, 1000 large, 0 broken, 3 selected" + up + up,
		"loop-1: fault: kill\n",
		"demo [##########..............] 1/3 days, 1h0m0s virtual, 60.0 x real time, about 7m0s left" +
			"\n  cubic-1    12m0s of 4h0m0s: 900 responses, 200 large, 0 broken" +
			"\n  loop-1     48m0s of 4h0m0s: 4000 responses, 1000 large, 0 broken, 3 selected" + up + up,
		"2/3 cubic-1: FAILED: run guest: guest hung: its last lines\n",
		"demo [#################.......] 2/3 days, 1 FAILED, 48m0s virtual, 48.0 x real time, about 40s left" +
			"\n  loop-1     48m0s of 4h0m0s: 4000 responses, 1000 large, 0 broken, 3 selected" + up,
		"3/3 loop-1: 4h1m0s virtual in 2m0s (120.5 x real time), 1m40s of CPU\n",
		"demo [########################] 3/3 days, 1 FAILED, 4h1m0s virtual, 120.5 x real time",
		"demo [########################] 3/3 days, 1 FAILED, 4h1m0s virtual, 120.5 x real time\n",
	}
	got := strings.ReplaceAll(b.String(), up, "UP")
	if got != strings.ReplaceAll("\r\033[K"+strings.Join(want, "\r\033[K"), up, "UP") {
		t.Errorf("drawn:\n%s", strings.ReplaceAll(strings.ReplaceAll(got, "\r\033[K", "\n<wipe>"), "UP", "<up>"))
	}
}

func TestDayMeterInAFile(t *testing.T) {
	var b strings.Builder
	clock := &stopwatch{at: time.Unix(1000, 0)}
	dayStory(NewDayMeter("demo", 3, &b, false, 0, clock.now), clock)
	want := `1/3 bbr-1: kept from before
cubic-1: 12m0s of 4h0m0s: 900 responses, 200 large, 0 broken
loop-1: 1m0s of 4h0m0s: 0 responses, 0 large, 0 broken, 0 selected
loop-1: 48m0s of 4h0m0s: 4000 responses, 1000 large, 0 broken, 3 selected
loop-1: fault: kill
2/3 cubic-1: FAILED: run guest: guest hung: its last lines
3/3 loop-1: 4h1m0s virtual in 2m0s (120.5 x real time), 1m40s of CPU
`
	if b.String() != want {
		t.Errorf("written:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestDayMeterOnANarrowTerminal(t *testing.T) {
	var b strings.Builder
	clock := &stopwatch{at: time.Unix(1000, 0)}
	m := NewDayMeter("demo", 1, &b, true, 21, clock.now)
	m.begin(DayRun{"loop", 1})
	if want := "\r\033[Kdemo [..............\n  loop-1     begins"; b.String() != want {
		t.Errorf("drawn %q, want %q", b.String(), want)
	}
}
