package lab

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// dayStory is one run kept from before, two side by side of which one breaks.
func dayStory(m *DayMeter, clock *stopwatch) {
	m.end(passed{DayRun: DayRun{"bbr", 1}})
	cubic, _ := m.begin(DayRun{"cubic", 1})
	loop, note := m.begin(DayRun{"loop", 1})
	clock.after(20 * time.Second)
	cubic(Progress{At: 12 * time.Minute, End: 4 * time.Hour, Selected: NoSelection})
	loop(Progress{At: time.Minute, End: 4 * time.Hour, Selected: 0}) // too soon to draw again
	clock.after(40 * time.Second)
	loop(Progress{At: 48 * time.Minute, End: 4 * time.Hour, Selected: 3})
	note("fault: kill")
	m.end(passed{DayRun: DayRun{"cubic", 1}, err: errors.New("run guest: guest hung: its last lines:\n  x")})
	clock.after(time.Minute)
	m.end(passed{DayRun: DayRun{"loop", 1}, facts: Facts{Virtual: 241 * time.Minute, Wall: 2 * time.Minute, CPU: 100 * time.Second}})
	m.Close()
}

func TestDayMeterOnATerminal(t *testing.T) {
	var b strings.Builder
	clock := &stopwatch{at: time.Unix(1000, 0)}
	dayStory(NewDayMeter(3, &b, true, 0, clock.now), clock)
	const up, both = "\r\033[K\033[1A", "cubic-1    [#.......................] 0:12 of 4:00, about 19m0s left\n"
	cubic := strings.Replace(both, "19m0s", "6m20s", 1)
	want := []string{
		"1/3 bbr-1: kept from before\n",
		"",
		cubic + "loop-1     [........................] begins" + up,
		both + "loop-1     [####....................] 0:48 of 4:00, 3 selected, about 4m0s left" + up,
		"loop-1: fault: kill\n",
		both + "loop-1     [####....................] 0:48 of 4:00, 3 selected, about 4m0s left" + up,
		"2/3 cubic-1: FAILED: run guest: guest hung: its last lines\n",
		"loop-1     [####....................] 0:48 of 4:00, 3 selected, about 4m0s left",
		"3/3 loop-1: 4h1m0s virtual in 2m0s (120.5 x real time), 1m40s of CPU\n",
	}
	got := strings.ReplaceAll(b.String(), up, "UP")
	if got != strings.ReplaceAll("\r\033[K"+strings.Join(want, "\r\033[K")+"\r\033[K\r\033[K", up, "UP") {
		t.Errorf("drawn:\n%s", strings.ReplaceAll(strings.ReplaceAll(got, "\r\033[K", "\n<wipe>"), "UP", "<up>"))
	}
}

func TestDayMeterInAFile(t *testing.T) {
	var b strings.Builder
	clock := &stopwatch{at: time.Unix(1000, 0)}
	dayStory(NewDayMeter(3, &b, false, 0, clock.now), clock)
	want := `1/3 bbr-1: kept from before
loop-1: fault: kill
2/3 cubic-1: FAILED: run guest: guest hung: its last lines
3/3 loop-1: 4h1m0s virtual in 2m0s (120.5 x real time), 1m40s of CPU
`
	if b.String() != want {
		t.Errorf("written:\n%s\nwant:\n%s", b.String(), want)
	}
	b.Reset()
	m := NewDayMeter(1, &b, false, 0, clock.now)
	progress, _ := m.begin(DayRun{"loop", 1})
	for minutes := time.Duration(0); minutes <= 240; minutes += 12 {
		progress(Progress{At: minutes * time.Minute, End: 4 * time.Hour, Selected: 2})
		clock.after(time.Second)
	}
	want = `loop-1: 1:00 of 4:00, 2 selected, about 15s left
loop-1: 2:00 of 4:00, 2 selected, about 10s left
loop-1: 3:00 of 4:00, 2 selected, about 5s left
loop-1: 4:00 of 4:00, 2 selected
`
	if b.String() != want {
		t.Errorf("written:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestDayMeterOnANarrowTerminal(t *testing.T) {
	var b strings.Builder
	clock := &stopwatch{at: time.Unix(1000, 0)}
	m := NewDayMeter(1, &b, true, 21, clock.now)
	m.begin(DayRun{"loop", 1})
	if want := "\r\033[Kloop-1     [........"; b.String() != want {
		t.Errorf("drawn %q, want %q", b.String(), want)
	}
}
