package world

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// tbfCell needs neither netem nor fq: a token bucket and no delay.
func tbfCell(cong string) scenario.Cell {
	c := baseCell()
	c.ID, c.Arm = "tbf/"+cong, scenario.Arm{Name: cong, Cong: cong, Qdisc: "noqueue"}
	c.Sender.Qdisc = "noqueue"
	c.Path.RTTUs, c.Path.Bottleneck, c.Path.Loss = 0, "tbf", scenario.Loss{}
	c.Flows[0].Cong = cong
	return c
}

func TestTbfBytes(t *testing.T) {
	for _, cong := range []string{"cubic", "bbr"} {
		t.Run(cong, func(t *testing.T) {
			needs(t, "tbf", cong)
			c := tbfCell(cong)
			run := runIt(t, c)
			f := run.Flows[0]
			conn := f.Conns[0]
			if conn.Bytes != c.Flows[0].Bytes || conn.EndUs == 0 || conn.Error != "" || f.BytesSent-f.BytesRetrans != conn.Bytes {
				t.Errorf("flow %+v", f)
			}
			if len(run.Idle) != idleProbes || run.Idle[4].RTTUs == 0 || len(run.Samples) < 10 || run.Samples[5].WireBytes == 0 {
				t.Errorf("idle %+v, %d samples", run.Idle, len(run.Samples))
			}
			if cong == "bbr" && run.Samples[5].BBRPacingGain == 0 {
				t.Errorf("no BBR in %+v", run.Samples[5])
			}
			// A busy machine serves the bucket late, never early.
			if h := hopOf(&run, outcome.RoleBottleneck); float64(h.Bytes)*8 > 1.01*20e6*float64(run.Host.DurationUs)/1e6+8*3028 {
				t.Errorf("faster than the rate: %+v in %d us", h, run.Host.DurationUs)
			}
		})
	}
}

func TestRepeat(t *testing.T) {
	needs(t, "tbf", "cubic")
	c := tbfCell("cubic")
	c.Flows[0].Bytes, c.Flows[0].Repeat, c.Flows[0].GapUs = 30_000, 20, 5_000
	run := runIt(t, c)
	conns := run.Flows[0].Conns
	if len(conns) != 20 {
		t.Fatalf("%d connections", len(conns))
	}
	for i, conn := range conns {
		if conn.Bytes != 30_000 || conn.EndUs <= conn.StartUs || i > 0 && conn.StartUs < conns[i-1].EndUs+5_000 {
			t.Errorf("connection %d: %+v", i, conn)
		}
	}
}

// An application with a rate of its own sends at that rate, and a flow with a duration
// ends when it is over.
func TestConstantRate(t *testing.T) {
	needs(t, "tbf", "cubic")
	c := tbfCell("cubic")
	c.Flows = []scenario.Flow{
		{Name: "slow", Cong: "cubic", DurationUs: 1_000_000, RateBitPerS: 2_000_000},
		{Name: "late", Cong: "reno", StartUs: 300_000, DurationUs: 500_000},
	}
	run := runIt(t, c)
	slow, late := run.Flows[0].Conns[0], run.Flows[1].Conns[0]
	if most := (slow.EndUs - slow.StartUs) * 2 / 8; slow.Bytes > most || slow.Bytes == 0 {
		t.Errorf("slow: %+v, at most %d", slow, most)
	}
	if samples := len(run.Samples); virtual(t) && (slow.Bytes < 240_000 || slow.EndUs > 1_001_000 || samples < 140) {
		t.Errorf("slow: %+v, %d samples", slow, samples)
	}
	if late.StartUs < 300_000 || late.EndUs < late.StartUs+500_000 || late.Bytes == 0 {
		t.Errorf("late: %+v", late)
	}
}

// At the cell's limit what still runs is told as not ended.
func TestLimit(t *testing.T) {
	needs(t, "tbf", "cubic")
	c := tbfCell("cubic")
	c.Flows[0].Bytes, c.LimitUs = 100_000_000, 300_000
	run := runIt(t, c)
	if conn := run.Flows[0].Conns[0]; conn.EndUs != 0 || conn.Error == "" || conn.Bytes == 0 {
		t.Errorf("got %+v", conn)
	}
}

// A schedule changes the rate while packets wait.
func TestSchedule(t *testing.T) {
	needs(t, "tbf", "cubic")
	c := tbfCell("cubic")
	c.Flows[0] = scenario.Flow{Name: "a", Cong: "cubic", DurationUs: 1_000_000}
	c.Path.Schedule = []scenario.Step{{AtUs: 500_000, RateBitPerS: 2_000_000}}
	run := runIt(t, c)
	after := slices.IndexFunc(run.Samples, func(s outcome.Sample) bool { return s.AtUs >= 500_000 }) + 1 // one may be due before, and late
	if after == 0 || after+1 >= len(run.Samples) {
		t.Fatalf("%d samples, too few behind the change", len(run.Samples))
	}
	first, last := run.Samples[after], run.Samples[len(run.Samples)-1]
	most := float64(last.AtUs-first.AtUs)*2/8 + 2*3028
	if got := float64(last.WireBytes - first.WireBytes); got > most*1.005 || virtual(t) && got < most*0.9 {
		t.Errorf("%.0f bytes behind the change, at most %.0f", got, most)
	}
}

// The guest's job: one line for each cell, an error where a cell cannot run, and the
// others all the same.
func TestRunJob(t *testing.T) {
	needs(t, "tbf", "cubic")
	good, bad := tbfCell("cubic"), tbfCell("cubic")
	good.Flows[0].Bytes, bad.Path.Bottleneck = 100_000, "red"
	job, err := json.Marshal(Job{Cells: []scenario.Cell{bad, good}, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	var progress []string
	report, err := runJob(job, func(s string) { progress = append(progress, s) }, Options{World: "vm"})
	if err != nil || len(progress) != 2 || progress[0] != "cell 1 of 2: tbf/cubic" {
		t.Fatalf("%v, %q", err, progress)
	}
	lines := strings.Split(strings.TrimSpace(string(report)), "\n")
	var runs [2]outcome.Run
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &runs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(runs[0].Error, `bottleneck is "red"`) || runs[1].Error != "" || runs[1].Flows[0].Conns[0].Bytes != 100_000 || runs[1].Seed != 3 {
		t.Errorf("got %s", report)
	}
}
