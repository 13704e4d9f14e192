package popworld

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/lab/kernel/world"
	"github.com/congctl/congctl/internal/linux/cubiclt"
	"github.com/congctl/congctl/internal/popday/pop"
)

// Policy is the edge's choice of congestion control.
type Policy struct {
	Name    string   `json:"name"`
	Cong    string   `json:"cong"`              // default of the edge
	OnRoute []string `json:"on_route"`          // classes whose routes name Treatment
	Treated string   `json:"treated,omitempty"` // the congestion control on those
	Product *Product `json:"product,omitempty"`
	Bandit  bool     `json:"bandit,omitempty"`      // bpf/bandit.bpf.c chooses for each connection
	Caps    bool     `json:"bandit_caps,omitempty"` // and caps those on BBR
}

// congs may be a namespace's default.
const congs = "reno cubic bbr"

// Modules of the kernel that a day wants, as far as its package has them.
func Modules() []string { return append(world.Modules(), "tcp_htcp") }

const (
	// startAfter: the product needs some seconds of a machine's clock to start.
	startAfter = 20 * time.Second
	// drainWithin: sessions that are open at the day's end may go on for so long.
	drainWithin = 30 * time.Second
	// lastRound: the last window goes out 300 ms after its end.
	lastRound = 5 * time.Second
)

// day is one run.
type day struct {
	world    *pop.World
	star     *star
	edge     *edge
	clients  *clients
	product  *product // nil without
	rival    *rival   // nil without
	book     *book
	progress func(string)
	began    time.Time
}

// Run runs a day with a seed on this machine, which must be ours alone, and returns what
// it saw. On an error the result has what was seen before it.
func Run(ctx context.Context, d *pop.Day, seed uint64, policy Policy, progress func(string)) (res *Result, err error) {
	allowed := congs
	if policy.Cong == cubiclt.Name {
		release, err := cubiclt.Provide()
		if err != nil {
			return nil, fmt.Errorf("run day %s: %w", d.Name, err)
		}
		defer func() { _ = release() }() // the machine ends with its day
		allowed += " " + cubiclt.Name
	}
	if err := world.OwnMachine(allowed); err != nil {
		return nil, fmt.Errorf("run day %s: %w", d.Name, err)
	}
	w := d.World(seed)
	run := &day{world: w, book: &book{}, progress: progress}
	defer func() { err = errors.Join(err, run.close()) }()
	if err := run.open(ctx, d, policy); err != nil {
		return nil, fmt.Errorf("run day %s: %w", d.Name, err)
	}
	res, err = run.all(d)
	if err != nil {
		err = fmt.Errorf("run day %s: %w", d.Name, err)
	}
	res.Facts.Day, res.Facts.Seed, res.Facts.Policy = d.Name, seed, policy.Name
	return res, err
}

// open builds everything and starts the product.
func (d *day) open(ctx context.Context, of *pop.Day, policy Policy) (err error) {
	onRoute := map[int]string{}
	for i := range d.world.Networks {
		for _, class := range policy.OnRoute {
			if d.world.Networks[i].Class == class {
				onRoute[i] = policy.Treated
			}
		}
	}
	if d.star, err = build(d.world, edgeOptions{of.Qdisc, policy.Cong, onRoute}); err != nil {
		return err
	}
	if d.edge, err = serve(ctx, d.star); err != nil {
		return err
	}
	d.clients = &clients{world: d.world, dialer: newDialer(d.star.clients.NS), edge: d.edge, book: d.book, quit: make(chan struct{})}
	if policy.Bandit {
		if d.rival, err = openRival(d.star.edge.NS, policy.Caps); err != nil {
			return err
		}
	}
	if policy.Product == nil {
		return nil
	}
	d.product = &product{Product: *policy.Product, ns: d.star.edge.NS}
	return d.product.start()
}

// all is the order of events: wait for a window's start, run the day, wait for open
// responses, end the product.
func (d *day) all(of *pop.Day) (*Result, error) {
	res := &Result{}
	window := time.Duration(of.WindowUs) * time.Microsecond
	d.began = time.Now().Add(startAfter + window).Truncate(window)
	time.Sleep(time.Until(d.began))
	d.began = time.Now() // with its monotonic clock
	d.clients.began = d.began
	res.Facts.BeganUnixS = d.began.Unix()
	busy, err := world.Busy()
	if err != nil {
		return res, err
	}
	err = d.live(of)
	host, busyErr := busy()
	res.Facts.BusyShare, res.Facts.SoftnetDropped, res.Facts.DurationUs = host.BusyShare, host.SoftnetDropped, host.DurationUs
	return res, errors.Join(err, busyErr, d.collect(res))
}

// live is the day from start to end.
func (d *day) live(of *pop.Day) error {
	passed := make(chan error, 1)
	d.clients.wg.Go(d.clients.come)
	go func() { passed <- d.pass(d.timeline(of.Faults)) }()
	length := time.Duration(of.EndUs) * time.Microsecond
	d.tell(length)
	time.Sleep(time.Until(d.began.Add(length)))
	d.drain()
	err := <-passed
	time.Sleep(lastRound)
	if d.product != nil {
		err = errors.Join(err, d.product.end(unix.SIGTERM))
	}
	return err
}

// drain waits for open sessions; those that still wait for their next request end.
func (d *day) drain() {
	close(d.clients.quit)
	drained := make(chan struct{})
	go func() { d.clients.wg.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(drainWithin):
	}
}

func (d *day) close() (err error) {
	if d.product != nil {
		err = d.product.end(unix.SIGKILL)
	}
	if d.rival != nil {
		err = errors.Join(err, d.rival.close())
	}
	if d.edge != nil {
		d.edge.close()
	}
	if d.clients != nil {
		d.clients.dialer.close()
	}
	if d.star != nil {
		err = errors.Join(err, d.star.close())
	}
	return err
}
