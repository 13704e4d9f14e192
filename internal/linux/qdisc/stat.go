package qdisc

import (
	"bytes"
	"cmp"
	"fmt"

	"golang.org/x/sys/unix"
)

// Stat is a qdisc with its counters.
type Stat struct {
	At   At
	Kind string
	// SeedTaken: a netem that keeps a seed of its own (6.6 and later).
	SeedTaken bool
	// Options are the parameters as the kernel reports them, to be read by kind
	// ([ReadTbf]) or restored. A counter among them is 0.
	Options []byte
	Stab    []byte // TCA_STAB, its size table, nil for none
	// Lost names what the kernel reports beside all this and cannot be given back: [Raw] and [Sized] restore options and size table.
	Lost []string
	Counters
}

// Counters are those of every qdisc and action. Marked is ECN, for kinds that report it.
type Counters struct {
	Bytes, Packets              uint64
	QueueBytes, QueuePackets    uint32
	Drops, Overlimits, Requeues uint64
	Marked                      uint64
	FlowsPlimit                 uint64 // fq: packets of flows that had too many in the queue
}

// Attributes of statistics (include/uapi/linux/gen_stats.h).
const (
	statsBasic = 1 // struct gnet_stats_basic: u64 bytes, u32 packets
	statsRate  = 2 // struct gnet_stats_rate_est, if the qdisc has an estimator
	statsQueue = 3 // struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits
	statsApp   = 4
	statsPkt64 = 8
)

// List reads every qdisc of a link, roots first.
func (c *Conn) List(link int) (all []Stat, err error) {
	err = c.read(unix.NLM_F_DUMP, At{Link: link}, func(s Stat) {
		if s.At.Link == link {
			all = append(all, s)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list qdiscs: %w", err)
	}
	return all, nil
}

// Get reads the one qdisc with this link and handle, without its parent. The kernel
// answers the requester only with NLM_F_ECHO (qdisc_notify in net/sched/sch_api.c).
func (c *Conn) Get(link int, handle uint32) (s Stat, err error) {
	err = c.read(unix.NLM_F_ECHO|unix.NLM_F_ACK, At{Link: link, Handle: handle}, func(got Stat) { s = got })
	if err == nil && s.Kind == "" {
		err = unix.ENOENT
	}
	if err != nil {
		return s, fmt.Errorf("read qdisc %x: of link %d: %w", handle>>16, link, err)
	}
	return s, nil
}

func (c *Conn) read(flags int, at At, each func(Stat)) error {
	return dump(c.request(unix.RTM_GETQDISC, flags, at), unix.RTM_NEWQDISC, func(m []byte) error {
		s, err := decode(m)
		if err == nil {
			each(s)
		}
		return err
	})
}

const tcmsgLen = 20 // sizeof(struct tcmsg)

// decode reads struct tcmsg and what follows it.
func decode(m []byte) (s Stat, err error) {
	if len(m) < tcmsgLen {
		return s, fmt.Errorf("decode qdisc: %d bytes, struct tcmsg has %d", len(m), tcmsgLen)
	}
	s.At = At{Link: int(int32(native.Uint32(m[4:]))), Handle: native.Uint32(m[8:]), Parent: native.Uint32(m[12:])}
	err = eachAttr(m[tcmsgLen:], func(typ uint16, v []byte) error {
		switch typ {
		case unix.TCA_KIND:
			s.Kind = unix.ByteSliceToString(v)
		case unix.TCA_OPTIONS:
			s.Options = uncounted(s.Kind, v)
		case unix.TCA_STATS2:
			s.Lost = append(s.Lost, estimator(v)...)
			return s.Counters.decode(v, s.Kind)
		case unix.TCA_STAB:
			s.Stab = bytes.Clone(v)
			s.Lost = append(s.Lost, cells(v)...)
		case unix.TCA_STATS, unix.TCA_XSTATS, unix.TCA_FCNT, unix.TCA_PAD, unix.TCA_DUMP_INVISIBLE:
		case unix.TCA_HW_OFFLOAD:
			if !bytes.Equal(v, []byte{0}) {
				s.Lost = append(s.Lost, "the place in the card's hardware")
			}
		default:
			s.Lost = append(s.Lost, cmp.Or(besides[typ], fmt.Sprintf("attribute %d", typ)))
		}
		return nil
	})
	if err == nil && s.Kind == "netem" {
		s.SeedTaken, err = hasSeed(s.Options)
	}
	return s, err
}

// besides are attributes that are about more than the qdisc.
var besides = map[uint16]string{unix.TCA_INGRESS_BLOCK: "the shared block of ingress filters", unix.TCA_EGRESS_BLOCK: "the shared block of egress filters"}

// estimator: the kernel reports the rate that an estimator reads, and not the interval that it was made with.
func estimator(stats []byte) (lost []string) {
	// A fault in the attributes is told by whatever decodes the counters.
	_ = within(stats, statsRate, func([]byte) error { lost = []string{"the interval of the rate estimator"}; return nil })
	return lost
}

// cells: of a size table the kernel reports struct tc_sizespec, and not the cells, of which a plain overhead has none.
func cells(stab []byte) (lost []string) {
	const base, tableSize = 1, 20
	err := within(stab, base, func(v []byte) error {
		if len(v) < tableSize+4 || native.Uint32(v[tableSize:]) > 0 {
			lost = []string{"the cells of the size table (stab)"}
		}
		return nil
	})
	if err != nil {
		lost = []string{"the size table (stab)"}
	}
	return lost
}

// uncounted returns a copy of options, without htb's count of packets that no class had. With it, whatever passes would
// look like a change by somebody else. It ends struct tc_htb_glob (include/uapi/linux/pkt_sched.h), and comes after the kind.
func uncounted(kind string, told []byte) []byte {
	const htbInit, directPackets = 2, 16
	o := bytes.Clone(told) // the buffer is the socket's
	if kind == "htb" {
		// A fault in the kernel's own bytes leaves the rest as it is.
		_ = eachAttr(o, func(typ uint16, v []byte) error {
			if typ == htbInit && len(v) >= directPackets+4 {
				clear(v[directPackets : directPackets+4])
			}
			return nil
		})
	}
	return o
}

// hasSeed looks behind struct tc_netem_qopt.
func hasSeed(options []byte) (has bool, err error) {
	const qoptLen = 24
	if len(options) < qoptLen {
		return false, fmt.Errorf("decode netem: %d bytes of options, struct tc_netem_qopt has %d", len(options), qoptLen)
	}
	err = eachAttr(options[qoptLen:], func(typ uint16, _ []byte) error {
		has = has || typ == netemSeed
		return nil
	})
	return has, err
}

// decode reads TCA_STATS2 (or an action's statistics, which have the same shape).
func (c *Counters) decode(b []byte, kind string) error {
	var pkt64 uint64
	err := eachAttr(b, func(typ uint16, v []byte) error {
		switch {
		case typ == statsBasic && len(v) >= 12:
			c.Bytes, c.Packets = native.Uint64(v), uint64(native.Uint32(v[8:]))
		case typ == statsQueue && len(v) >= 20:
			c.QueuePackets, c.QueueBytes = native.Uint32(v), native.Uint32(v[4:])
			c.Drops, c.Requeues, c.Overlimits = uint64(native.Uint32(v[8:])), uint64(native.Uint32(v[12:])), uint64(native.Uint32(v[16:]))
		case typ == statsPkt64 && len(v) >= 8:
			pkt64 = native.Uint64(v)
		case typ == statsApp:
			c.Marked, c.FlowsPlimit = marks(kind, v), flowsPlimit(kind, v)
		case typ == statsBasic || typ == statsQueue:
			return fmt.Errorf("decode statistics: attribute %d has %d bytes", typ, len(v))
		}
		return nil
	})
	c.Packets = max(c.Packets, pkt64) // only there when 32 bits were too few
	return err
}

// marks of fq_codel: struct tc_fq_codel_xstats, ecn_mark and ce_mark of its qd_stats.
func marks(kind string, v []byte) uint64 {
	if kind != "fq_codel" || len(v) < 32 || native.Uint32(v) != 0 {
		return 0
	}
	return uint64(native.Uint32(v[12:])) + uint64(native.Uint32(v[28:]))
}

// flowsPlimit of fq: the fifth of the 64-bit counters of struct tc_fq_qd_stats.
func flowsPlimit(kind string, v []byte) uint64 {
	if kind != "fq" || len(v) < 40 {
		return 0
	}
	return native.Uint64(v[32:])
}

// eachAttr walks attributes. A length that does not fit ends the walk with an error.
func eachAttr(b []byte, fn func(typ uint16, v []byte) error) error {
	for len(b) >= unix.SizeofRtAttr {
		n := int(native.Uint16(b))
		if n < unix.SizeofRtAttr || n > len(b) {
			return fmt.Errorf("decode attributes: length %d with %d bytes left", n, len(b))
		}
		if err := fn(native.Uint16(b[2:])&^unix.NLA_F_NESTED, b[unix.SizeofRtAttr:n]); err != nil {
			return err
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return nil
}
