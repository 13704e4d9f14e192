package qdisc

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// What a link receives can be queued on another one, an ifb, which has a root qdisc as
// any link has:
//
//	ingress qdisc - matchall - mirred redirect -> ifb [root qdisc] -> back into the stack
//
// Source: net/sched/act_mirred.c, drivers/net/ifb.c.

const (
	mirredParms    = 2 // TCA_MIRRED_PARMS
	egressRedirect = 1 // TCA_EGRESS_REDIR
	actStolen      = 4 // TC_ACT_STOLEN
)

// Redirect sends what a link receives to another one first. The link must have no
// ingress qdisc.
func (c *Conn) Redirect(link, to int) error {
	qd := c.request(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK, At{link, ingressParent, ingressHandle})
	qd.AddData(nl.NewRtAttr(unix.TCA_KIND, nl.ZeroTerminated("ingress")))
	if err := execute(qd); err != nil {
		return fmt.Errorf("add ingress qdisc: %w", err)
	}
	o := nestedOptions()
	a := o.AddRtAttr(matchallAct, nil).AddRtAttr(1, nil)
	a.AddRtAttr(actKind, nl.ZeroTerminated("mirred"))
	// struct tc_mirred: index, capab, action, refcnt, bindcnt, eaction, ifindex.
	a.AddRtAttr(actOptions, nil).AddRtAttr(mirredParms, words(0, 0, actStolen, 0, 0, egressRedirect, uint32(to)))
	if err := c.addMatchall(link, o); err != nil {
		return errors.Join(fmt.Errorf("redirect what comes in: %w", err), c.NoIngress(link))
	}
	return nil
}

// NoIngress takes away what Redirect and a policer put.
func (c *Conn) NoIngress(link int) error {
	return c.Delete(At{Link: link, Parent: ingressParent, Handle: ingressHandle})
}
