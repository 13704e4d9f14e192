package route

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Between two Sets things change: a routing daemon moves a gateway, and a copy still leads
// the old way; a block ends. Follow listens to the kernel's messages on routes and links.
// It looks again when one concerns a copy, and when an arm or the program ends. IPv4
// reports no route that goes with its link: hence the links.

const (
	settle = 100 * time.Millisecond // a daemon changes many routes at a time: let it finish
	pause  = time.Second            // at most one reading of the table a second, however busy it is
	// horizon is the longest sleep. A Go timer stops while the host is suspended;
	// CLOCK_BOOTTIME does not.
	horizon = 30 * time.Second
)

func subscribe() (*nl.NetlinkSocket, error) {
	s, err := nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("subscribe to routes: %w", err)
	}
	return s, nil
}

// Follow renews the routes between Sets: when an original or its link changes, and
// at the program's own times. It blocks until stop or the router is closed, and
// can be called once. What goes wrong in a renewal is in Report.
func (r *Router) Follow(stop <-chan struct{}) error {
	r.mu.Lock()
	news := r.news
	r.news = nil
	r.mu.Unlock()
	if news == nil {
		return errors.New("follow routes: closed, or followed already")
	}
	heard, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- r.hear(news, heard) }()
	err := r.followUntil(stop, heard, ended)
	news.Close()
	if err == nil {
		<-ended
	}
	return err
}

func (r *Router) followUntil(stop, heard <-chan struct{}, ended <-chan error) error {
	for {
		wait, open := r.untilNext()
		if !open {
			return nil
		}
		rest := time.Duration(0)
		select {
		case <-stop:
			return nil
		case err := <-ended:
			return fmt.Errorf("follow routes: %w", err)
		case <-heard:
			rest = pause
			if sleep(stop, settle) {
				return nil
			}
		case <-r.planned: // its times may come sooner
			continue
		case <-time.After(wait):
		}
		r.renew()
		if sleep(stop, rest) {
			return nil
		}
	}
}

// sleep reports whether stop came first.
func sleep(stop <-chan struct{}, d time.Duration) bool {
	select {
	case <-stop:
		return true
	case <-time.After(d):
		return false
	}
}

// renew brings the program up to the clock and the table. A copy that cannot be
// renewed is removed: packets then take the real route, untreated.
func (r *Router) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.sync()
	if err != nil && r.tab != nil {
		err = errors.Join(fmt.Errorf("renew routes: %w", err), r.retreat())
	}
	r.note(err)
}

// untilNext returns the time until an arm or the program ends; open is false after Close.
func (r *Router) untilNext() (wait time.Duration, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, next := r.bootNs(), int64(horizon)
	for i := range r.prog.Entries {
		p := &r.prog.Entries[i].Policy
		for _, at := range [...]uint64{p.SwitchNs, p.UntilNs, p.ExpiresNs} {
			if left := int64(at) - now; left > 0 {
				next = min(next, left)
			}
		}
	}
	return time.Duration(next), r.tab != nil
}

// hear reads the kernel's news until the socket closes, and passes on that there
// was some of concern. Lost news may have been of concern.
func (r *Router) hear(news *nl.NetlinkSocket, heard chan<- struct{}) error {
	for {
		msgs, from, err := news.Receive()
		if errors.Is(err, os.ErrClosed) {
			return err
		}
		concern := errors.Is(err, unix.ENOBUFS)
		if err != nil && !concern && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return err
		}
		for _, m := range msgs {
			concern = concern || from.Pid == nl.PidKernel && r.concerns(m.Header.Type, m.Data)
		}
		if concern {
			select {
			case heard <- struct{}{}:
			default: // it has not looked since the last
			}
		}
	}
}

// concerns reports whether a message is about a link of a copy, or about a foreign route
// that a target's packets could take.
func (r *Router) concerns(kind uint16, m []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch kind {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		return len(m) >= unix.SizeofIfInfomsg && r.uses(int32(native.Uint32(m[4:])))
	case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
		h, err := decodeHead(m)
		return err == nil && h.table == unix.RT_TABLE_MAIN && !h.ours() && r.targeted[h.family].touches(h.dst)
	}
	return false
}

func (r *Router) uses(dev int32) bool {
	for _, e := range r.put {
		for _, h := range e.hops {
			if h.dev == dev {
				return true
			}
		}
	}
	return false
}
