package popworld

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/popday/pop"
)

// event is something that happens to the day at a time.
type event struct {
	atUs uint64
	do   func() error
}

// timeline has the changes of paths and the faults of a day, in order.
func (d *day) timeline(faults []pop.Fault) (all []event) {
	for _, c := range d.world.Changes {
		all = append(all, event{c.AtUs, func() error { return d.star.paths[c.Network].change(c.Path) }})
	}
	for _, f := range faults {
		all = append(all, event{f.AtUs, func() error { return d.fault(f) }})
	}
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(a.atUs, b.atUs) })
	return all
}

// pass lets the timeline happen. It ends with the day or with the first error.
func (d *day) pass(all []event) error {
	for _, e := range all {
		if !d.clients.at(e.atUs) {
			return nil
		}
		if err := e.do(); err != nil {
			return fmt.Errorf("at %s of the day: %w", time.Duration(e.atUs)*time.Microsecond, err)
		}
	}
	return nil
}

// fault does one deed. Those to the product pass over a day without it.
func (d *day) fault(f pop.Fault) error {
	d.progress(fmt.Sprintf("fault: %s", f.Do))
	switch p := d.product; {
	case f.Do == pop.StepClock:
		return stepClock(time.Duration(f.ByUs) * time.Microsecond)
	case p == nil:
		return nil
	case f.Do == pop.Kill:
		return p.end(unix.SIGKILL)
	case f.Do == pop.Stop:
		return p.end(unix.SIGTERM)
	case f.Do == pop.Start:
		return p.start()
	case f.Do == pop.Pause:
		return p.signal(unix.SIGSTOP)
	case f.Do == pop.Resume:
		return p.signal(unix.SIGCONT)
	case f.Do == pop.EmptyStore:
		return p.empty()
	}
	return errors.New("unknown fault " + f.Do)
}

// stepClock sets the wall clock of the machine. No other clock moves.
func stepClock(by time.Duration) error {
	t := unix.NsecToTimespec(time.Now().Add(by).UnixNano())
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &t); err != nil {
		return fmt.Errorf("step clock: %w", err)
	}
	return nil
}
