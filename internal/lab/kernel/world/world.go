package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

// Schema of outcome.Run that this package writes.
const schema = 1

// Options of a run. The zero value is a host that others use too.
type Options struct {
	World string // its name in the result; "": netns
	// Own says that the whole machine is ours: limits outside namespaces may be raised.
	Own bool
	// Progress, if not nil, gets the cell's clock every ten seconds of it.
	Progress func(time.Duration)
}

// Run runs one cell with one seed. On an error the result has the facts seen before it,
// and the text in Error. Nothing is left behind.
func Run(ctx context.Context, c *scenario.Cell, seed uint64, opt Options) (outcome.Run, error) {
	if opt.World == "" {
		opt.World = "netns"
	}
	run := outcome.Run{Schema: schema, Cell: c.ID, Seed: seed, World: opt.World, Kernel: Release(), HZ: hz()}
	err := runCell(ctx, c, seed, opt, &run)
	if err != nil {
		err = fmt.Errorf("run cell %s, seed %d: %w", c.ID, seed, err)
		run.Error = err.Error()
	}
	return run, err
}

func runCell(ctx context.Context, c *scenario.Cell, seed uint64, opt Options, run *outcome.Run) (err error) {
	p, err := planOf(c, seed)
	if err != nil {
		return err
	}
	if opt.Own {
		if err := apply(limits); err != nil {
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
	spent, err := Busy()
	if err != nil {
		return err
	}
	err = r.traffic(ctx)
	h.DurationUs = r.loop.now()
	if err != nil {
		return err
	}
	work, err := spent()
	if err != nil {
		return err
	}
	h.BusyShare, h.SoftnetDropped = work.BusyShare, work.SoftnetDropped
	if err := r.drain(ctx); err != nil {
		return fmt.Errorf("drain the queues: %w", err)
	}
	return errors.Join(r.readHops(), r.readLinks())
}

// seedsTaken reports whether each netem keeps its seed.
func (w *network) seedsTaken() (bool, error) {
	all, err := w.qdiscs()
	netems := slices.DeleteFunc(all, func(s qdisc.Stat) bool { return s.Kind != (qdisc.Netem{}).Kind() })
	taken := !slices.ContainsFunc(netems, func(s qdisc.Stat) bool { return !s.SeedTaken })
	return len(netems) > 0 && taken, err
}
