package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

// runner carries one cell's traffic over a network that exists.
type runner struct {
	cell       *scenario.Cell
	plan       *plan
	net        *network
	loop       *loop
	diag       *diag
	ping       *pinger
	flows      []*flow
	run        *outcome.Run
	pages      int    // a small file whose pages are sent
	sink       []byte // never written to
	bottleneck *place
	ended      bool
	err        error // the first that ends the run

	progress func(time.Duration) // may be nil
}

func newRunner(c *scenario.Cell, p *plan, w *network, out *outcome.Run) (r *runner, err error) {
	r = &runner{cell: c, plan: p, net: w, run: out, pages: -1, sink: make([]byte, chunkBytes)}
	r.bottleneck = p.bottleneck(c.Sender.Qdisc == "tbf" && c.Sender.TbfBitPerS < c.Path.RateBitPerS)
	if r.loop, err = newLoop(); err != nil {
		return nil, err
	}
	if err = r.open(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *runner) open() (err error) {
	if r.pages, err = pagesToSend(); err != nil {
		return err
	}
	r.run.Flows = make([]outcome.FlowRun, len(r.cell.Flows))
	return r.net.node(srv).NS.Do(func() (err error) {
		if r.diag, err = openDiag(); err != nil {
			return err
		}
		if r.ping, err = newPinger(); err != nil {
			return err
		}
		for i := range r.cell.Flows {
			if err := r.addFlow(i); err != nil {
				return fmt.Errorf("flow %s: %w", r.cell.Flows[i].Name, err)
			}
		}
		return r.loop.add(r.ping.fd, unix.EPOLLIN, func(uint32) { r.ping.receive() })
	})
}

func (r *runner) addFlow(i int) (err error) {
	f := &flow{spec: &r.cell.Flows[i], out: &r.run.Flows[i], port: uint16(firstServerPort + i)}
	f.out.Name, f.out.Cong = f.spec.Name, f.spec.Cong
	f.out.Conns = make([]outcome.Transfer, 0, f.count()) // never moves: transfers point into it
	if f.listener, err = listen(f.port, f.spec.Cong); err != nil {
		return err
	}
	r.flows = append(r.flows, f)
	if r.cell.Unpaced(f.spec.Cong) {
		if err := neverPace(f.listener); err != nil {
			return err
		}
	}
	return r.loop.add(f.listener, unix.EPOLLIN, func(uint32) { r.accept(f) })
}

func pagesToSend() (int, error) {
	fd, err := unix.MemfdCreate("congctl-lab", unix.MFD_CLOEXEC)
	if err == nil {
		_, err = unix.Write(fd, make([]byte, chunkBytes))
	}
	if err != nil {
		return -1, fmt.Errorf("make pages to send: %w", err)
	}
	return fd, nil
}

func (r *runner) close() {
	for _, f := range r.flows {
		if f.now != nil {
			r.abandon(f.now)
		}
		r.loop.drop(f.listener)
	}
	if r.ping != nil {
		r.loop.drop(r.ping.fd)
	}
	if r.diag != nil {
		r.diag.close()
	}
	if r.pages >= 0 {
		unix.Close(r.pages)
	}
	r.loop.close()
}

// fail ends the run with an error; the first one is reported.
func (r *runner) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// wait runs the loop until done or a failure.
func (r *runner) wait(ctx context.Context, done func() bool) error {
	err := r.loop.run(ctx, func() bool { return r.err != nil || done() })
	return errors.Join(err, r.err)
}

// idle measures the empty path: probes one after another.
func (r *runner) idle(ctx context.Context) error {
	r.loop.reset()
	r.ping.begin(&r.run.Idle)
	r.run.ProbeBytes = probeBytes
	patience := 2*r.cell.Path.RTTUs + 1_000_000 // for one that is lost
	for range idleProbes {
		if err := r.ping.send(r.loop.now()); err != nil {
			return err
		}
		late := false
		r.loop.at(r.loop.now()+patience, func() { late = true })
		open := r.ping.open
		if err := r.wait(ctx, func() bool { return r.ping.open < open || late }); err != nil {
			return err
		}
	}
	return nil
}

// traffic runs the flows until the last has ended or the cell's limit.
func (r *runner) traffic(ctx context.Context) error {
	r.loop.reset()
	r.ping.begin(&r.run.Probes)
	for _, f := range r.flows {
		r.loop.at(f.spec.StartUs, func() { r.startFlow(f) })
		if f.spec.RateBitPerS > 0 {
			r.loop.every(f.tickUs(), func() bool { return r.write(f) })
		}
	}
	for _, c := range r.plan.changes {
		r.loop.at(c.atUs, func() { r.change(c) })
	}
	r.loop.every(r.cell.SampleUs, func() bool { return r.sample() })
	if r.cell.ProbeUs > 0 {
		r.loop.every(r.cell.ProbeUs, func() bool { return r.probe() })
	}
	if r.cell.LimitUs > 0 {
		r.loop.at(r.cell.LimitUs, r.expire)
	}
	if r.progress != nil {
		r.loop.every(progressUs, func() bool { return r.tell() })
	}
	err := r.wait(ctx, r.over)
	r.ended = true
	return err
}

// progressUs is far above a timer's cost, and a long cell still shows progress.
const progressUs = 10_000_000

func (r *runner) tell() bool {
	r.progress(time.Duration(r.loop.now()) * time.Microsecond)
	return !r.ended
}

func (r *runner) over() bool {
	return !slices.ContainsFunc(r.flows, func(f *flow) bool { return !f.over() })
}

// write is the tick of an application with a rate of its own.
func (r *runner) write(f *flow) bool {
	if t := f.now; t != nil && t.snd >= 0 {
		r.pump(t)
	}
	return !r.ended && !f.over()
}

func (r *runner) probe() bool {
	if r.ended {
		return false
	}
	if err := r.ping.send(r.loop.now()); err != nil {
		r.fail(err)
	}
	return true
}

func (r *runner) change(c change) {
	at := &r.plan.places[c.at]
	n := r.net.node(at.node)
	if err := n.TC.Change(n.tcAt(at), c.spec); err != nil {
		r.fail(fmt.Errorf("at %d us: %w", c.atUs, err))
	}
}

// expire ends what still runs at the cell's limit.
func (r *runner) expire() {
	for _, f := range r.flows {
		f.begun = f.count()
		if f.now != nil {
			r.finish(f.now, "did not end within the cell's limit")
		}
	}
}

const (
	drainEveryUs  = 10_000
	drainWithinUs = 60_000_000
)

// drain waits until every queue is empty, so that each packet is counted as sent or
// dropped, and until the last probes can be back.
func (r *runner) drain(ctx context.Context) error {
	began, empty := r.loop.now(), false
	r.loop.every(drainEveryUs, func() bool {
		spent := r.loop.now() - began
		queued, err := r.net.queued()
		if err != nil {
			r.fail(err)
		}
		patient := r.ping.open > 0 && spent < 2*r.cell.Path.RTTUs
		empty = queued == 0 && !patient || spent > drainWithinUs
		return !empty
	})
	return r.wait(ctx, func() bool { return empty })
}

// queued is how many packets wait in all qdiscs.
func (w *network) queued() (packets uint32, err error) {
	all, err := w.qdiscs()
	for _, s := range all {
		packets += s.QueuePackets
	}
	return packets, err
}

func (w *network) qdiscs() (all []qdisc.Stat, err error) {
	for _, n := range w.nodes {
		for _, l := range n.links {
			some, err := n.TC.List(l.index)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	return all, nil
}
