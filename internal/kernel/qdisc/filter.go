package qdisc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Filter is one filter of a qdisc. The head of a chain counts as one as well: it has no To.
type Filter struct {
	Kind string
	Prio uint16
	To   int // the link that a matchall sends everything to, 0 for any other filter
}

// Filters reads the filters of the qdisc with a handle; a qdisc that can have none has none.
func (c *Conn) Filters(link int, handle uint32) (all []Filter, err error) {
	req := nl.NewNetlinkRequest(unix.RTM_GETTFILTER, unix.NLM_F_DUMP)
	req.AddData(&nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(link), Parent: handle})
	req.Sockets = c.at
	var bad error
	err = req.ExecuteIter(unix.NETLINK_ROUTE, unix.RTM_NEWTFILTER, func(m []byte) bool {
		f, err := decodeFilter(m)
		all, bad = append(all, f), err
		return err == nil
	})
	if err = errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("read filters of %x: of link %d: %w", handle>>16, link, err)
	}
	return all, nil
}

func decodeFilter(m []byte) (f Filter, err error) {
	if len(m) < tcmsgLen {
		return f, fmt.Errorf("decode filter: %d bytes, struct tcmsg has %d", len(m), tcmsgLen)
	}
	f.Prio = uint16(native.Uint32(m[16:]) >> 16)
	err = within(m[tcmsgLen:], unix.TCA_KIND, func(v []byte) error {
		f.Kind = unix.ByteSliceToString(v)
		return nil
	})
	if err != nil || f.Kind != "matchall" {
		return f, err
	}
	return f, within(m[tcmsgLen:], unix.TCA_OPTIONS, func(options []byte) error {
		return within(options, matchallAct, func(acts []byte) error { return within(acts, 1, f.redirect) })
	})
}

// redirect reads where an action sends packets, if that is what it does.
func (f *Filter) redirect(action []byte) error {
	return within(action, actOptions, func(o []byte) error {
		return within(o, mirredParms, func(v []byte) error {
			const eaction, ifindex = 20, 24 // in struct tc_mirred
			if len(v) >= ifindex+4 && native.Uint32(v[eaction:]) == egressRedirect {
				f.To = int(native.Uint32(v[ifindex:]))
			}
			return nil
		})
	})
}

// ofRedirect tells whether it is what Redirect puts.
func (f Filter) ofRedirect() bool { return f.Kind == "matchall" && f.Prio == filterPrio }

// Redirects tells whether what a link receives goes to another one by the rule of Redirect.
func (c *Conn) Redirects(link, to int) (bool, error) {
	all, err := c.Filters(link, ingressHandle)
	return slices.ContainsFunc(all, func(f Filter) bool { return f.ofRedirect() && f.To == to }), err
}

// Unredirect takes away what Redirect put, and nothing of anybody else's: neither the
// qdisc that took the place of ours nor the one that has filters beside ours.
func (c *Conn) Unredirect(link, to int) error {
	all, err := c.Filters(link, ingressHandle)
	if err != nil || !slices.ContainsFunc(all, func(f Filter) bool { return f.ofRedirect() && f.To == to }) {
		return err
	}
	if !slices.ContainsFunc(all, func(f Filter) bool { return !f.ofRedirect() }) {
		return c.NoIngress(link)
	}
	req := nl.NewNetlinkRequest(unix.RTM_DELTFILTER, unix.NLM_F_ACK)
	req.AddData(&nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(link), Handle: 1, Parent: ingressHandle, Info: filterPrio<<16 | etherAll})
	req.Sockets = c.at
	req.AddData(nl.NewRtAttr(unix.TCA_KIND, nl.ZeroTerminated("matchall")))
	if err := execute(req); err != nil {
		return fmt.Errorf("delete redirection: %w", err)
	}
	return nil
}
