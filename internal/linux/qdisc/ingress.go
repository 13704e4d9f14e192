package qdisc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// What a link receives can be queued on another one, an ifb, which has a root qdisc as
// any link has:
//
//	ingress qdisc - matchall or u32 - mirred redirect -> ifb [root qdisc] -> back into the stack
//
// Source: net/sched/act_mirred.c, cls_matchall.c, cls_u32.c, drivers/net/ifb.c.

const (
	mirred         = "mirred"
	mirredParms    = 2 // TCA_MIRRED_PARMS
	egressRedirect = 1 // TCA_EGRESS_REDIR
	actStolen      = 4 // TC_ACT_STOLEN
)

// Catchalls are the filters that can match every packet, in the order in which Redirect
// tries them: cls_matchall came with Linux 4.8, and small kernels have only cls_u32.
var Catchalls = []string{matchall, u32Filter}

// Redirect sends what a link receives to another one first, by the first of the filters
// that this kernel has. The link must have no ingress qdisc.
func (c *Conn) Redirect(link, to int, filters []string) error {
	// struct tc_mirred: index, capab, action, refcnt, bindcnt, eaction, ifindex.
	return c.redirect(link, filters, mirred, words(0, 0, actStolen, 0, 0, egressRedirect, uint32(to)))
}

func (c *Conn) redirect(link int, filters []string, action string, parms []byte) error {
	if err := c.addIngress(link); err != nil {
		return fmt.Errorf("add ingress qdisc: %w", lacking(err, "sch_ingress"))
	}
	err := ErrUnknown
	var modules []string
	for _, kind := range filters {
		o := nestedOptions()
		a := o.AddRtAttr(catchalls[kind].actions, nil).AddRtAttr(1, nil)
		a.AddRtAttr(actKind, nl.ZeroTerminated(action))
		a.AddRtAttr(actOptions, nil).AddRtAttr(mirredParms, parms)
		if err = c.addCatchall(link, kind, o); !errors.Is(err, ErrUnknown) {
			break
		}
		if c.addCatchall(link, kind, nestedOptions()) == nil { // without the action the kernel takes it
			err = lacking(err, "act_"+action)
			break
		}
		modules = append(modules, "cls_"+kind)
		err = lacking(err, modules...)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("redirect inbound packets: %w", err), c.NoIngress(link))
	}
	return nil
}

// addIngress adds the qdisc whose filters see what a link receives, to a link that has none.
func (c *Conn) addIngress(link int) error {
	req := c.request(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK, At{link, ingressParent, ingressHandle})
	req.AddData(nl.NewRtAttr(unix.TCA_KIND, nl.ZeroTerminated("ingress")))
	return execute(req)
}

// lacking names the modules, one of which this kernel needs; another error it leaves alone.
func lacking(err error, modules ...string) error {
	if !errors.Is(err, ErrUnknown) {
		return err
	}
	var options []string
	for _, m := range modules {
		options = append(options, "CONFIG_NET_"+strings.ToUpper(m))
	}
	return fmt.Errorf("%w: sudo modprobe %s, or boot a kernel with %s", ErrUnknown, strings.Join(modules, " or "), strings.Join(options, " or "))
}

// NoIngress takes away what Redirect and a policer put.
func (c *Conn) NoIngress(link int) error {
	return c.Delete(At{Link: link, Parent: ingressParent, Handle: ingressHandle})
}

// A filter that matches every packet: cls_matchall does nothing else, cls_u32 does where
// its one key has no mask, as in `tc filter add ... u32 match u32 0 0`.

const (
	matchall  = "matchall"
	u32Filter = "u32"

	u32Table  = 0x80000000 // 800:, the first hash table of an ingress qdisc
	u32Handle = 0x80000001 // 800::1; the kernel itself counts from 800::800
	u32Sel    = 5          // TCA_U32_SEL
)

// catchalls are the handle of ours and the attribute of the actions, by kind.
var catchalls = map[string]struct {
	handle  uint32
	actions int
}{
	matchall:  {1, matchallAct},
	u32Filter: {u32Handle, 7}, // TCA_U32_ACT
}

// u32All is struct tc_u32_sel with flag TC_U32_TERMINAL and one key, all zero: mask,
// value, offset, offset mask.
func u32All() []byte {
	sel := make([]byte, 16+16)
	sel[0], sel[2] = 1, 1
	return sel
}

// addCatchall puts a filter of a kind for every packet on the ingress qdisc.
func (c *Conn) addCatchall(link int, kind string, options *nl.RtAttr) error {
	if kind == u32Filter {
		options.AddRtAttr(u32Sel, u32All())
	}
	req := c.filterRequest(unix.RTM_NEWTFILTER, unix.NLM_F_CREATE|unix.NLM_F_EXCL, link, kind)
	req.AddData(options)
	return execute(req)
}

// filterRequest names our filter of a kind.
func (c *Conn) filterRequest(typ, flags, link int, kind string) *nl.NetlinkRequest {
	req := nl.NewNetlinkRequest(typ, flags|unix.NLM_F_ACK)
	req.AddData(&nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(link), Handle: catchalls[kind].handle, Parent: ingressHandle, Info: filterPrio<<16 | etherAll})
	req.Sockets = c.at
	req.AddData(nl.NewRtAttr(unix.TCA_KIND, nl.ZeroTerminated(kind)))
	return req
}

// Filter is one filter of a qdisc. The head of a chain and a hash table of u32 count as one
// as well: they have no To.
type Filter struct {
	Kind   string
	Prio   uint16
	Handle uint32 // 0 for the head of a chain
	To     int    // the link that a redirection sends to, 0 for any other filter
}

// Filters reads the filters of the qdisc with a handle; a qdisc that can have none has none.
func (c *Conn) Filters(link int, handle uint32) (all []Filter, err error) {
	err = c.eachFilter(link, handle, func(m []byte) error {
		f, err := decodeFilter(m)
		all = append(all, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read filters of %x: of link %d: %w", handle>>16, link, err)
	}
	return all, nil
}

func (c *Conn) eachFilter(link int, handle uint32, fn func(m []byte) error) error {
	return dump(c.request(unix.RTM_GETTFILTER, unix.NLM_F_DUMP, At{Link: link, Parent: handle}), unix.RTM_NEWTFILTER, fn)
}

func decodeFilter(m []byte) (f Filter, err error) {
	if len(m) < tcmsgLen {
		return f, fmt.Errorf("decode filter: %d bytes, struct tcmsg has %d", len(m), tcmsgLen)
	}
	f.Handle = native.Uint32(m[8:])
	f.Prio = uint16(native.Uint32(m[16:]) >> 16)
	err = within(m[tcmsgLen:], unix.TCA_KIND, func(v []byte) error {
		f.Kind = unix.ByteSliceToString(v)
		return nil
	})
	form, known := catchalls[f.Kind]
	if err != nil || !known {
		return f, err
	}
	return f, within(m[tcmsgLen:], unix.TCA_OPTIONS, func(options []byte) error {
		return within(options, uint16(form.actions), func(acts []byte) error { return within(acts, 1, f.redirect) })
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

// ofRedirect reports whether it is what Redirect puts. A priority has one matchall, but may
// hold filters of others beside ours of u32.
func (f Filter) ofRedirect() bool {
	switch {
	case f.Prio != filterPrio:
		return false
	case f.Kind == u32Filter:
		return f.Handle == 0 || f.Handle == u32Table || f.Handle == u32Handle
	}
	return f.Kind == matchall
}

// Redirects reports whether what a link receives goes to another one by the rule of
// Redirect.
func (c *Conn) Redirects(link, to int) (bool, error) {
	all, err := c.Filters(link, ingressHandle)
	return slices.ContainsFunc(all, leadsTo(to)), err
}

func leadsTo(link int) func(Filter) bool {
	return func(f Filter) bool { return f.ofRedirect() && f.To == link }
}

// Unredirect removes what Redirect added, and nothing foreign: neither a qdisc that
// replaced ours nor one with filters beside ours.
func (c *Conn) Unredirect(link, to int) error {
	all, err := c.Filters(link, ingressHandle)
	ours := slices.IndexFunc(all, leadsTo(to))
	if err != nil || ours < 0 {
		return err
	}
	if !slices.ContainsFunc(all, func(f Filter) bool { return !f.ofRedirect() }) {
		return c.NoIngress(link)
	}
	req := c.filterRequest(unix.RTM_DELTFILTER, 0, link, all[ours].Kind)
	if err := execute(req); err != nil {
		return fmt.Errorf("delete redirection: %w", err)
	}
	return nil
}
