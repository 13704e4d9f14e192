package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/core/scenario"
	"github.com/congctl/congctl/internal/kernel/qdisc"
)

// Schema of outcome.Run that this package writes.
const schema = 1

// Options of a run. The zero value is a host that others use too.
type Options struct {
	World string // its name in the result; "": netns
	// Own says that the whole machine is ours: limits that no namespace has are raised.
	Own bool
	// Progress, if not nil, is told the cell's clock every ten seconds of it.
	Progress func(time.Duration)
}

// Run runs one cell with one seed. Facts that were seen before an error are in the
// result, and its Error says what it was. Nothing is left behind.
func Run(ctx context.Context, c *scenario.Cell, seed uint64, opt Options) (outcome.Run, error) {
	if opt.World == "" {
		opt.World = "netns"
	}
	run := outcome.Run{Schema: schema, Cell: c.ID, Seed: seed, World: opt.World, Kernel: release(), HZ: hz()}
	err := runCell(ctx, c, seed, opt, &run)
	if err != nil {
		err = fmt.Errorf("run cell %s, seed %d: %w", c.ID, seed, err)
		run.Error = err.Error()
	}
	return run, err
}

func runCell(ctx context.Context, c *scenario.Cell, seed uint64, opt Options, run *outcome.Run) (err error) {
	if err := checkCell(c); err != nil {
		return err
	}
	p, err := planOf(c, seed)
	if err != nil {
		return err
	}
	if opt.Own {
		if err := raiseLimits(); err != nil {
			return err
		}
	}
	w, err := buildNetwork(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	r, err := newRunner(c, p, w, run)
	if err != nil {
		return err
	}
	defer r.close()
	r.progress = opt.Progress
	return r.all(ctx)
}

// all is the order of events.
func (r *runner) all(ctx context.Context) (err error) {
	h, sender := &r.run.Host, r.net.node(srv)
	if h.Sysctls, err = readSysctls(sender, r.plan.ends); err != nil {
		return err
	}
	if h.PairedLosses, err = r.net.seedsTaken(); err != nil {
		return err
	}
	if err := r.idle(ctx); err != nil {
		return fmt.Errorf("probe the idle path: %w", err)
	}
	if h.MetricsCached, err = cachedMetrics(sender); err != nil {
		return err
	}
	before, err := readLoad()
	if err != nil {
		return err
	}
	err = r.traffic(ctx)
	h.DurationUs = r.loop.now()
	if err != nil {
		return err
	}
	after, err := readLoad()
	if err != nil {
		return err
	}
	after.since(before, h)
	if err := r.drain(ctx); err != nil {
		return fmt.Errorf("drain the queues: %w", err)
	}
	return errors.Join(r.readHops(), r.readLinks())
}

// checkCell refuses what no plan can mend. Scenarios are checked where they are read.
func checkCell(c *scenario.Cell) error {
	switch {
	case c.SampleUs < 1000:
		return fmt.Errorf("sample_us is %d: at least 1000, a millisecond", c.SampleUs)
	case c.Path.MTU < 576:
		return fmt.Errorf("path.mtu is %d: at least 576", c.Path.MTU)
	case len(c.Flows) == 0:
		return errors.New("flows is empty: nothing to send")
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		if f.Bytes == 0 && f.DurationUs == 0 && c.LimitUs == 0 {
			return fmt.Errorf("flow %s has neither bytes nor duration_us, and the cell no limit_us: it would never end", f.Name)
		}
	}
	return nil
}

// limits that no namespace has: the backlog between two links takes whole bursts, and
// small machines do not run into TCP's own memory limit.
var limits = []setting{
	{"net.core.netdev_max_backlog", "100000"},
	{"net.ipv4.tcp_mem", "1000000 1000000 1000000"}, // pages
}

func raiseLimits() error {
	for _, s := range limits {
		if err := os.WriteFile(procSys(s.key), []byte(s.value), 0); err != nil {
			return fmt.Errorf("set sysctl %s=%s: %w", s.key, s.value, err)
		}
	}
	return nil
}

// seedsTaken tells whether each netem keeps the seed that it was given.
func (w *network) seedsTaken() (bool, error) {
	taken, any := true, false
	for _, n := range w.nodes {
		for _, l := range n.links {
			all, err := n.tc.List(l.index)
			if err != nil {
				return false, err
			}
			for _, s := range all {
				if s.Kind == (qdisc.Netem{}).Kind() {
					any, taken = true, taken && s.SeedTaken
				}
			}
		}
	}
	return any && taken, nil
}
