package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/report"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// fakeWorld makes the run of a job from the job alone. What a test wants broken, it breaks.
type fakeWorld struct {
	mu     sync.Mutex
	order  []string // "cell/seed" as begun
	onCPU  map[int]bool
	shared bool // two runs at once on one CPU
	most   int  // runs at once

	broken map[string]error // by "cell/seed"
	hold   []string         // runs that do not end by themselves
	began  chan string      // each run, if not nil
}

func name(job Job) string { return fmt.Sprintf("%s/%d", job.Cell.ID, job.Seed) }

func (w *fakeWorld) Run(ctx context.Context, job Job) (outcome.Run, Facts, error) {
	w.enter(job)
	defer w.leave(job)
	if w.began != nil {
		w.began <- name(job)
	}
	if slices.Contains(w.hold, name(job)) {
		<-ctx.Done()
		return outcome.Run{}, Facts{}, errors.New("guest ended")
	}
	job.Progress(time.Second)
	return fakeRun(job.Cell, job.Seed), Facts{Virtual: 10 * time.Second}, w.broken[name(job)]
}

func (w *fakeWorld) enter(job Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.onCPU == nil {
		w.onCPU = map[int]bool{}
	}
	w.order = append(w.order, name(job))
	w.shared = w.shared || w.onCPU[job.CPU]
	w.onCPU[job.CPU] = true
	w.most = max(w.most, len(w.onCPU))
}

func (w *fakeWorld) leave(job Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.onCPU, job.CPU)
}

// fakeRun is a transfer whose rate hangs on cell and seed only. BBR's is all over the place.
func fakeRun(c *scenario.Cell, seed uint64) outcome.Run {
	f := &c.Flows[0]
	rate := 1_000_000 + 1000*(seed*7919%13)
	if c.Arm.Cong == "bbr" {
		rate = 1_000_000 * (1 + seed*7919%5)
	}
	end := 8 * f.Bytes * 1_000_000 / rate
	return outcome.Run{
		World: "fake", Kernel: "6.1.0-fake", HZ: 250,
		Flows: []outcome.FlowRun{{Name: f.Name, Cong: f.Cong, CongSeen: f.Cong,
			Conns:   []outcome.Transfer{{EndUs: end, Bytes: f.Bytes}},
			Arrived: []outcome.Mark{{AtUs: end, Bytes: f.Bytes}},
		}},
		Hops: []outcome.Hop{{Roles: []string{outcome.RoleSender}, Packets: 700}},
	}
}

// fakeManifest is of a scenario with six cells that is exempt from all gates: the fake
// world has no qdiscs. More is what its seeds are.
func fakeManifest(t *testing.T, seeds string, c Choice) report.Manifest {
	t.Helper()
	text := "name: fake\nabout: for tests\narms: [cubic, bbr, reno]\nmatrix:\n  loss: [0%, 1%]\n" +
		"path: {rate: 10mbit, rtt: 40ms, loss_at: before}\nflows:\n  - {size: 1MB}\nseeds: {" + seeds + "}\nexempt:\n"
	for _, gate := range scenario.Gates {
		text += "  " + gate + ": the world is a fake\n"
	}
	m := report.Manifest{Format: report.Format, Scenario: report.NewText("fake.yml", []byte(text)), World: "fake",
		Kernel: report.Kernel{Release: "6.1.0-fake"}, Congctl: report.Binary{Version: "devel", SHA256: "00"}}
	if err := c.Choose(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

// fakeScenario has the cells cubic, bbr and reno of loss=0% and loss=1%.
func fakeScenario(t *testing.T, seeds string) *scenario.Scenario {
	t.Helper()
	m := fakeManifest(t, seeds, Choice{})
	s, err := Scenario(&m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
