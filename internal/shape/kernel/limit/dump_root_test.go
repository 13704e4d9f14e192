package limit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/shape"
)

// dumped is all that the kernel reports of the queues of link a, an attribute a line: qdiscs, also those that tc hides, classes,
// and the filters of each. It is read without congctl's own decoders, and leaves out only what counts.
func dumped(t *testing.T, ns *netns.NS) string {
	t.Helper()
	var lines []string
	in(t, ns, func() error {
		l, err := find("a")
		if err != nil {
			return err
		}
		ask := func(typ int, parent uint32) (handles []uint32) {
			req := nl.NewNetlinkRequest(typ, unix.NLM_F_DUMP)
			req.AddData(&nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(l.Attrs().Index), Parent: parent})
			req.AddData(nl.NewRtAttr(unix.TCA_DUMP_INVISIBLE, nil))
			all, e := req.Execute(unix.NETLINK_ROUTE, 0)
			err = errors.Join(err, e)
			for _, m := range all {
				if int(binary.NativeEndian.Uint32(m[4:])) != l.Attrs().Index {
					continue
				}
				handles = append(handles, binary.NativeEndian.Uint32(m[8:]))
				lines = append(lines, attributes(t, fmt.Sprintf("%d %x", typ, m[8:20]), m[20:])...)
			}
			return handles
		}
		for _, qdisc := range ask(unix.RTM_GETQDISC, 0) {
			ask(unix.RTM_GETTCLASS, qdisc)
			ask(unix.RTM_GETTFILTER, qdisc)
			for _, minor := range []uint32{0xfff2, 0xfff3} { // of clsact
				if qdisc == 0xffff0000 {
					ask(unix.RTM_GETTFILTER, qdisc|minor)
				}
			}
		}
		return err
	})
	slices.Sort(lines) // the order depends on a hash
	return strings.Join(lines, "\n")
}

func attributes(t *testing.T, at string, b []byte) (lines []string) {
	t.Helper()
	attrs, err := nl.ParseRouteAttr(b)
	if err != nil {
		t.Fatal(err)
	}
	kind := ""
	for _, a := range attrs {
		switch a.Attr.Type &^ unix.NLA_F_NESTED {
		case unix.TCA_STATS, unix.TCA_XSTATS, unix.TCA_STATS2:
			continue
		case unix.TCA_KIND:
			kind = unix.ByteSliceToString(a.Value)
		case unix.TCA_OPTIONS:
			if kind == "htb" && len(a.Value) >= 24 {
				a.Value = bytes.Clone(a.Value)
				clear(a.Value[20:24]) // direct_pkts
			}
			if kind == "u32" {
				a.Value = without(t, a.Value, 9) // TCA_U32_PCNT, the packets that it saw
			}
		}
		lines = append(lines, fmt.Sprintf("%s %s %d=%x", at, kind, a.Attr.Type, a.Value))
	}
	return lines
}

// without is nested attributes but for those of a type.
func without(t *testing.T, b []byte, typ uint16) (kept []byte) {
	t.Helper()
	attrs, err := nl.ParseRouteAttr(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range attrs {
		if a.Attr.Type&^unix.NLA_F_NESTED != typ {
			kept = append(kept, nl.NewRtAttr(int(a.Attr.Type), a.Value).Serialize()...)
		}
	}
	return kept
}

// sendFrame sends 1,514 bytes out of link a.
func sendFrame(t *testing.T, ns *netns.NS) {
	t.Helper()
	in(t, ns, func() error {
		c, err := net.Dial("udp4", "192.0.2.2:1000")
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write(make([]byte, 1472)) // and 42 of headers
		return err
	})
}

// Whatever a link had, it has after a limit, as far as the kernel reports it, or the limit is refused before anything changes.
func TestAllThatIsReportedComesBack(t *testing.T) {
	const (
		root  = "tc qdisc replace dev a root handle 7: "
		table = "cells of the size table"
		mq    = root + "mq\n"
		htb   = root + "htb default 2\ntc class add dev a parent 7: classid 7:1 htb rate 9mbit\ntc class add dev a parent 7:1 classid 7:2 htb rate 5mbit ceil 8mbit prio 3"
	)
	for _, c := range []struct{ name, script, refused string }{
		{"pfifo with an overhead", root + "stab overhead 40 pfifo limit 7", ""},
		{"bfifo with an overhead below zero", root + "stab overhead -4 bfifo limit 9000", ""},
		{"tbf with an overhead", root + "stab linklayer ethernet overhead 38 tbf rate 5mbit burst 5k limit 90k", ""},
		{"tbf on ATM, as reported", root + "stab linklayer atm overhead 40 tbf rate 5mbit burst 5k limit 90k", table},
		{"tbf with a least size", root + "stab mpu 64 tbf rate 5mbit burst 5k limit 90k", table},
		{"pfifo with a table", root + "stab mtu 2048 tsize 128 mpu 64 pfifo", table},
		{"tbf that counts ATM cells by itself", root + "tbf rate 5mbit burst 5k limit 90k linklayer atm overhead 12 mpu 60", ""},
		{"tbf of one frame at 40 Gbit/s", root + "tbf rate 40gbit burst 1514 limit 90k", ""},
		{"tbf with a peak", root + "tbf rate 5mbit burst 5k limit 90k peakrate 7mbit mtu 1600", ""},
		{"tbf with a peak above 32 bits", root + "tbf rate 36gbit burst 500k limit 9m peakrate 40gbit mtu 64k", ""},
		{"tbf with a peak and an overhead", root + "stab overhead 9 tbf rate 5mbit burst 5k limit 90k peakrate 7mbit mtu 1600", ""},
		{"an estimator", root + "estimator 1s 8s pfifo limit 7", "interval of the rate estimator"},
		{"pfifo_fast with an overhead", root + "stab overhead 4 pfifo_fast", ""},
		{"blackhole", root + "blackhole", "made with"},
		{"mq with children with an overhead", mq + "tc qdisc replace dev a parent 7:2 handle 20: stab overhead 8 pfifo limit 7\ntc qdisc replace dev a parent 7:3 handle 30: stab overhead 9 tbf rate 5mbit burst 5k limit 90k\ntc qdisc add dev a parent 30:1 handle 31: bfifo limit 9000", ""},
		{"mq with a child on ATM", mq + "tc qdisc replace dev a parent 7:2 handle 20: stab linklayer atm pfifo limit 7", table},
		{"mq with a grandchild with an estimator", mq + "tc qdisc replace dev a parent 7:3 handle 30: tbf rate 5mbit burst 5k limit 90k\ntc qdisc add dev a parent 30:1 handle 31: estimator 1s 8s bfifo", "interval of the rate estimator"},
		{"htb with classes", htb, "made with"},
		{"htb with leaves and filters", htb + "\ntc qdisc add dev a parent 7:2 handle 20: pfifo limit 9\ntc filter add dev a parent 7: protocol ip prio 5 u32 match ip dport 80 0xffff flowid 7:2", "filters"},
		{"clsact with filters", "tc qdisc add dev a clsact\ntc filter add dev a ingress prio 9 protocol all u32 match u32 0 0 classid 1:1\ntc filter add dev a egress prio 8 protocol ip u32 match ip dport 80 0xffff classid 1:2", ""},
		{"clsact with blocks", "tc qdisc add dev a ingress_block 5 egress_block 6 clsact\ntc filter add block 5 prio 9 protocol all u32 match u32 0 0 classid 1:1", ""},
		{"ingress with a block", "tc qdisc add dev a ingress_block 5 ingress", ""},
		{"the kernel's own", "tc qdisc show", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			mustShell(t, p.a, "ip link del dev a\nip link add name a numtxqueues 4 type veth peer name b2\nip link set dev a up\nip link set dev b2 up\nip addr add 192.0.2.1/24 dev a\nip neigh replace 192.0.2.2 lladdr 02:00:00:00:00:02 dev a")
			mustShell(t, p.a, c.script)
			h, before := newTestHost(t), dumped(t, p.a)
			r := ask(8e6)
			r.Ask.Replace = true
			sendFrame(t, p.a) // what counts is not compared
			err := p.a.Do(func() error { _, err := h.Set(r, "test", time.Now(), nil); return err })
			if c.refused != "" {
				if !errors.Is(err, shape.ErrStuck) || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("not refused for %q: %v", c.refused, err)
				}
			} else if err != nil || dumped(t, p.a) == before {
				t.Fatalf("not set: %v", err)
			} else {
				mustClear(t, p, h)
			}
			if after := dumped(t, p.a); after != before {
				t.Errorf("before\n%s\nafter\n%s", before, after)
			}
		})
	}
}

// A guest below our bucket, and a bucket of ours that got a size table or a peak, are somebody's.
func TestReportedOfOurs(t *testing.T) {
	for _, c := range []struct{ name, script, refused string }{
		{"a guest", "tc qdisc add dev a parent c0c7:1 handle 9: pfifo limit 7", ""},
		{"a guest with an estimator", "tc qdisc add dev a parent c0c7:1 handle 9: estimator 1s 8s pfifo limit 7", "interval of the rate estimator"},
		{"our bucket with an overhead", "tc qdisc change dev a root handle c0c7: stab overhead 4 tbf rate 8mbit burst 3028 limit 103028", ""},
		{"our bucket with a peak", "tc qdisc change dev a root handle c0c7: tbf rate 8mbit burst 3028 limit 103028 peakrate 9mbit mtu 1600", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, h := newPair(t), newTestHost(t)
			setOrSkip(t, p, h, ask(8e6))
			mustShell(t, p.a, c.script)
			before := dumped(t, p.a)
			in(t, p.a, func() error {
				report, err := h.Clear("a", false, time.Now())
				if len(report.Refused) != 1 {
					t.Errorf("cleared: %+v", report)
				}
				return err
			})
			r := ask(16e6)
			r.Ask.Replace = true
			err := p.a.Do(func() error { _, err := h.Set(r, "test", time.Now(), nil); return err })
			if c.refused != "" {
				if !errors.Is(err, shape.ErrStuck) || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("not refused for %q: %v", c.refused, err)
				}
			} else if err != nil {
				t.Fatal(err)
			} else {
				in(t, p.a, func() error { _, err := h.Clear("a", false, time.Now()); return err })
			}
			if after := dumped(t, p.a); after != before {
				t.Errorf("before\n%s\nafter\n%s", before, after)
			}
		})
	}
}

// A bucket of one frame still passes one after it was put aside: the kernel reports its burst as a time, which is rounded down.
func TestBucketOfAFrameComesBack(t *testing.T) {
	for _, script := range []string{
		"tc qdisc replace dev a root handle 7: tbf rate 40gbit burst 1514 limit 90k",
		"tc qdisc replace dev a root handle 7: tbf rate 1gbit burst 15140 limit 90k peakrate 30gbit mtu 1514",
	} {
		p, h := newPair(t), newTestHost(t)
		mustShell(t, p.a, script)
		r := ask(8e6)
		r.Ask.Replace = true
		setOrSkip(t, p, h, r)
		mustClear(t, p, h)
		sendFrame(t, p.a)
		if stats := output(t, p.a, "tc -s qdisc show dev a root"); !strings.Contains(stats, "dropped 0,") || strings.Contains(stats, "Sent 0 bytes") {
			t.Errorf("%s: %s", script, stats)
		}
	}
}
