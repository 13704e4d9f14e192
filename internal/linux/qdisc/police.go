package qdisc

import (
	"fmt"
	"math"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// A policer drops what comes in faster than a rate and queues nothing. Two actions
// share the work, since one counts what it sees before it drops:
//
//	ingress qdisc - matchall - police rate burst, exceed: drop - police (no rate): counts what passed
//
// Source: net/sched/act_police.c, cls_matchall.c.

// Police is a policer on what a link receives.
type Police struct {
	RateBytesPerS uint64
	BurstBytes    uint32
}

// Kind is "police".
func (Police) Kind() string { return "police" }

func (p Police) String() string {
	return fmt.Sprintf("ingress matchall police rate %s burst %db exceed drop", rateText(p.RateBytesPerS), p.BurstBytes)
}

const (
	ingressParent = 0xfffffff1 // TC_H_INGRESS
	ingressHandle = 0xffff0000 // ffff:, the only one that the kernel allows
	etherAll      = 0x0300     // ETH_P_ALL in network order
	filterPrio    = 1

	matchallAct  = 2 // TCA_MATCHALL_ACT
	policeTbf    = 1 // TCA_POLICE_TBF
	policeRate   = 2 // TCA_POLICE_RATE
	policeResult = 5 // TCA_POLICE_RESULT
	policeRate64 = 8 // TCA_POLICE_RATE64
	actKind      = 1 // TCA_ACT_KIND
	actOptions   = 2 // TCA_ACT_OPTIONS
	actStats     = 4 // TCA_ACT_STATS

	actOK, actShot, actPipe = 0, 2, 3 // TC_ACT_*
)

// addPolice adds a policer to a link that has no ingress qdisc.
func (c *Conn) addPolice(link int, p Police) error {
	err := c.addIngress(link)
	if err == nil {
		err = c.addCatchall(link, matchall, p.options())
	}
	if err != nil {
		return fmt.Errorf("add %s: %w", p, err)
	}
	return nil
}

// options are those of the filter.
func (p Police) options() *nl.RtAttr {
	o := nestedOptions()
	acts := o.AddRtAttr(matchallAct, nil)
	p.addTo(acts, 1, actPipe)
	Police{}.addTo(acts, 2, actOK)
	return o
}

// addTo adds a police action that does then with what conforms, and drops the rest.
func (p Police) addTo(acts *nl.RtAttr, order int, then uint32) {
	a := acts.AddRtAttr(order, nil)
	a.AddRtAttr(actKind, nl.ZeroTerminated("police"))
	o := a.AddRtAttr(actOptions, nil)
	o.AddRtAttr(policeTbf, p.parms())
	o.AddRtAttr(policeResult, u32(then))
	if p.RateBytesPerS == 0 {
		return
	}
	o.AddRtAttr(policeRate, p.table())
	if p.RateBytesPerS > math.MaxUint32 {
		o.AddRtAttr(policeRate64, u64(p.RateBytesPerS))
	}
}

const (
	cellLog  = 8         // a cell of the rate table is 256 bytes: 255 of them are longer than any packet
	anyBytes = 1<<16 - 1 // mtu: packets of any size are policed by rate, not by size
)

// parms is struct tc_police: index, action on exceed, limit, burst, mtu, rate,
// peakrate, refcnt, bindcnt, capab.
func (p Police) parms() []byte {
	b := words(0, actShot, 0, xmitTicks(p.RateBytesPerS, uint64(p.BurstBytes)), anyBytes)
	rate := rateSpec(p.RateBytesPerS)
	rate[0] = cellLog
	b = append(b, rate...)
	var none [24]byte
	return append(b, none[:]...)
}

// table returns the rate table that act_police still requires: ticks of each cell.
func (p Police) table() (b []byte) {
	for i := range uint64(256) {
		b = native.AppendUint32(b, xmitTicks(p.RateBytesPerS, (i+1)<<cellLog))
	}
	return b
}

// PoliceStat reads the policer of a link: sent is what passed, drops what did not.
func (c *Conn) PoliceStat(link int) (out Counters, err error) {
	seen := 0
	err = c.eachFilter(link, ingressHandle, func(m []byte) error {
		n, err := decodePolice(m, &out)
		seen += n
		return err
	})
	if err == nil && seen != 2 {
		err = fmt.Errorf("%d police actions, want our two", seen)
	}
	if err != nil {
		return out, fmt.Errorf("read policer of link %d: %w", link, err)
	}
	return out, nil
}

// decodePolice reads a filter: drops of the first action, bytes and packets of the
// second. It returns the number of actions; a filter without options is only a chain's head.
func decodePolice(m []byte, out *Counters) (actions int, err error) {
	if len(m) < tcmsgLen {
		return 0, fmt.Errorf("decode filter: %d bytes, struct tcmsg has %d", len(m), tcmsgLen)
	}
	err = within(m[tcmsgLen:], unix.TCA_OPTIONS, func(options []byte) error {
		return within(options, matchallAct, func(acts []byte) error {
			return eachAttr(acts, func(order uint16, action []byte) error {
				return within(action, actStats, func(stats []byte) error {
					actions++
					var c Counters
					err := c.decode(stats, "police")
					if order == 1 {
						out.Drops, out.Overlimits = c.Drops, c.Overlimits
					} else {
						out.Bytes, out.Packets = c.Bytes, c.Packets
					}
					return err
				})
			})
		})
	})
	return actions, err
}

// within calls fn with the value of one attribute, if present.
func within(b []byte, want uint16, fn func(v []byte) error) error {
	return eachAttr(b, func(typ uint16, v []byte) error {
		if typ != want {
			return nil
		}
		return fn(v)
	})
}
