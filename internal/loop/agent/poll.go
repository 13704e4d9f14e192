package agent

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/loop/ledger"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// poll is one round over all namespaces. At the end of the open window it also closes that
// window.
func (a *Agent) poll() error {
	now, boot := a.deps.Clock()
	a.drainCloses()
	stepped := a.noteClock(now, boot)
	a.noteStarved()
	a.noteAttached()
	final, win := a.place(now)

	spaces, err := a.namespaces()
	if err != nil {
		a.renew(now, boot) // measuring fails, but the plan's expiry must not
		return err
	}
	var errs []error
	for _, ns := range spaces {
		if err := a.pollOne(ns, now, boot, final, win); err != nil {
			errs = append(errs, fmt.Errorf("poll namespace %s: %w", ns.Name, err))
		}
	}
	a.watchCoverage(spaces)
	if final {
		a.closing = append(a.closing, closing{ClosedWindow{Start: win, Unknown: a.unknown, Starved: a.starved}, boot + int64(settleAfter)})
		a.unknown, a.starved = stepped, "" // a step affects the window that it leads into, too
	}
	a.turnTo(a.floor(now))
	a.renew(now, boot)
	a.sweepIfDue(spaces, boot)
	a.watchLosses(boot)
	a.publish(spaces)
	return errors.Join(errs...)
}

func (a *Agent) floor(unixNs int64) int64 {
	w := seconds(a.opt.Window)
	s := unixNs / int64(time.Second)
	return s - s%w
}

// place reports whether a poll at now ends the open window, and which window its
// deltas belong to.
func (a *Agent) place(now int64) (final bool, win int64) {
	cur := a.floor(now)
	switch {
	case a.window == 0 || a.window == cur:
		return false, cur
	case cur == a.window-seconds(a.opt.Window):
		return false, a.window // set back before its start: the window only takes longer
	}
	late := time.Duration(now - (a.window+seconds(a.opt.Window))*int64(time.Second))
	if late >= a.opt.Window/lateShare {
		a.markUnknown(fmt.Sprintf("no poll at its end: the agent was paused or starved, %.1f s late", late.Seconds()))
	}
	return true, a.window
}

// turnTo opens the window that begins at start. If the clock was set back by more than a
// window, the window that it leaves goes out at once, before any record of the new time:
// it is unknown anyway.
func (a *Agent) turnTo(start int64) {
	w := seconds(a.opt.Window)
	switch {
	case start == a.window-w:
		return
	case start < a.window:
		a.closeUntil(math.MaxInt64)
		a.agg.Rewind(start)
	}
	a.window = start
}

// lateShare: a final poll this part of a window late counts as missed. What moved since
// the boundary is booked before it: a tenth of a window's bytes at most.
const lateShare = 10

func (a *Agent) markUnknown(why string) {
	if a.unknown == "" {
		a.unknown = why
	}
}

// settleAfter is how long a window waits after its final poll for close records of
// connections that ended during the poll.
const settleAfter = 300 * time.Millisecond

// closing is a window whose final poll is done.
type closing struct {
	ClosedWindow
	dueNs int64 // boot ns
}

// closeUntil sends the windows that are due by bootNs, one at a time: an agent that was
// paused over a whole window has only rows from close records for it. A clock that was
// set back brings windows a second time; the receiver decides what to do with them.
func (a *Agent) closeUntil(bootNs int64) {
	var congs []string
	for _, cong := range a.told {
		congs = append(congs, cong.String())
	}
	for len(a.closing) > 0 && bootNs >= a.closing[0].dueNs {
		c := a.closing[0].ClosedWindow
		a.closing = a.closing[1:]
		a.ledger.Settle(c.Start)
		rows, stats := a.agg.Flush(c.Start)
		a.mu.Lock()
		a.status.LeftOut.Add(stats.LeftOut)
		a.mu.Unlock()
		for len(rows) > 0 && rows[0].Start < c.Start {
			var missed []record.Window
			missed, rows = cutWindow(rows)
			a.deps.OnWindow(ClosedWindow{Start: missed[0].Start, Rows: missed, Unknown: "no poll in it: the agent was paused or starved", DefaultCongs: congs})
		}
		c.Rows, c.DefaultCongs = rows, congs
		a.deps.OnWindow(c)
	}
}

// cutWindow cuts off the rows of the first window; rows are sorted by it.
func cutWindow(rows []record.Window) (first, rest []record.Window) {
	n := slices.IndexFunc(rows, func(w record.Window) bool { return w.Start != rows[0].Start })
	if n < 0 {
		n = len(rows)
	}
	return rows[:n], rows[n:]
}

// noteClock detects a step of the wall clock, by the offset to CLOCK_BOOTTIME, and
// describes it; "" if no step is more than a window.
func (a *Agent) noteClock(now, boot int64) (stepped string) {
	offset := now - boot
	was := a.offset
	a.offset = offset
	step := offset - was
	if was == 0 || step <= int64(a.opt.Window) && step >= -int64(a.opt.Window) {
		a.ClearAlarm("clock")
		return ""
	}
	stepped = fmt.Sprintf("wall clock stepped by %+.0f s", time.Duration(step).Seconds())
	a.markUnknown(stepped)
	a.RaiseAlarm("clock", stepped)
	return stepped
}

func (a *Agent) noteStarved() {
	why, err := a.deps.Starved()
	if err != nil {
		a.RaiseAlarm("cpu", "CPU shortage cannot be measured: "+err.Error())
		return
	}
	a.ClearAlarm("cpu")
	if a.deps.Treater != nil {
		a.deps.Treater.Stop(stopStarved, why != "")
	}
	if why == "" {
		a.ClearAlarm("starved")
		return
	}
	a.starved = why
	a.RaiseAlarm("starved", "no new treatment while the host is short of CPU: "+why)
}

// namespaces lists them anew, tells eBPF, and drops those that are gone.
func (a *Agent) namespaces() ([]Namespace, error) {
	spaces, err := a.deps.Sockets.Namespaces()
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	a.noteNotTrusted()
	follow := make(map[record.NetnsID]inetdiag.Cong, len(spaces))
	for _, ns := range spaces {
		follow[ns.ID] = ns.DefaultCong
		a.ledger.Namespace(ns.ID, ns.DefaultCong)
	}
	for id := range a.told {
		if _, ok := follow[id]; !ok {
			a.ledger.DropNetns(id)
			a.coverage.forget(id)
			delete(a.known, id)
		}
	}
	a.told = follow
	if a.deps.Follower == nil {
		return spaces, nil
	}
	changed, err := a.deps.Follower.SetNetns(follow)
	for _, id := range changed {
		a.coverage.forget(id)
	}
	if err != nil { // what is followed is still measured
		a.RaiseAlarm("follow", "some namespaces are not followed: "+err.Error())
	} else {
		a.ClearAlarm("follow")
	}
	return spaces, nil
}

func (a *Agent) noteNotTrusted() {
	if a.deps.NotTrusted == nil {
		return
	}
	count, named := a.deps.NotTrusted()
	a.mu.Lock()
	a.status.NotTrusted = count
	a.mu.Unlock()
	if err := NotTrusted(named); err != nil {
		a.RaiseAlarm("netns", err.Error())
	} else {
		a.ClearAlarm("netns")
	}
}

// NotTrusted is the error about namespaces that are not polled because another user namespace
// owns them; nil for none.
func NotTrusted(names []string) error {
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("network namespace %s: not polled, since another user namespace than the host's owns it and could invent clients; netns_trust: all polls it nevertheless",
		strings.Join(names, ", "))
}

func (a *Agent) pollOne(ns Namespace, now, boot int64, final bool, win int64) error {
	listening, err := a.deps.Counters.Listening(ns.ID)
	if err != nil {
		return err
	}
	_, seen := a.known[ns.ID]
	a.known[ns.ID] = ns
	a.ledger.BeginPoll(ledger.Poll{Netns: ns.ID, AtNs: now, BootNs: boot, DefaultCong: ns.DefaultCong, Listening: listening,
		First: !seen, Final: final, Window: win})
	_, began := a.deps.Clock()
	st, err := a.deps.Sockets.Dump(ns.ID, a.ledger.Sock)
	a.ledger.EndPoll(err == nil && !st.Interrupted)
	_, ended := a.deps.Clock()

	a.mu.Lock()
	defer a.mu.Unlock()
	a.status.Polls++
	a.status.DumpSeconds += time.Duration(ended - began).Seconds()
	if err == nil {
		a.status.PolledNs = boot
	}
	a.status.Sockets += st.Sockets
	a.status.MalformedMessages += st.Malformed
	if st.Interrupted {
		a.status.InterruptedDumps++
	}
	return err
}
