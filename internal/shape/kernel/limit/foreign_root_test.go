package limit

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/shape"
)

// shell runs "ip" and "tc" in a namespace, a command a line; false is that this kernel
// does not know a kind.
func shell(t *testing.T, ns *netns.NS, script string) bool {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
		words := strings.Fields(line)
		cmd := exec.Command(words[0], words[1:]...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := ns.Start(cmd); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			continue
		}
		if strings.Contains(out.String(), "Specified qdisc kind is unknown") || strings.Contains(out.String(), "No such file") || strings.Contains(out.String(), "not found") || strings.Contains(out.String(), "Unknown device type") {
			return false
		}
		t.Fatalf("%s: %s", line, out.String())
	}
	return true
}

func mustShell(t *testing.T, ns *netns.NS, script string) {
	t.Helper()
	if !shell(t, ns, script) {
		t.Skipf("needs more of the kernel for %q; minimum kernel 5.3", script)
	}
}

func newTestHost(t *testing.T) *Host {
	t.Helper()
	h, err := NewHost(t.TempDir(), "/changes")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func ask(rate shape.Rate) Request { return Request{Link: "a", Ask: shape.Ask{Rate: rate}} }

// Each kind is put aside and brought back with all that it was made with, or refused.
func TestForeignComesBackOrIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, script string
		refused      bool
	}{
		{name: "noqueue", script: "tc qdisc replace dev a root handle 7: noqueue"},
		{name: "pfifo", script: "tc qdisc replace dev a root handle 7: pfifo limit 7"},
		{name: "bfifo", script: "tc qdisc replace dev a root handle 7: bfifo limit 9000"},
		{name: "pfifo_fast", script: "tc qdisc replace dev a root handle 7: pfifo_fast"},
		{name: "tbf", script: "tc qdisc replace dev a root handle 7: tbf rate 5mbit burst 5k limit 90k"},
		{name: "tbf with a peak", script: "tc qdisc replace dev a root handle 7: tbf rate 5mbit burst 5k limit 90k peakrate 7mbit mtu 1600"},
		{name: "tbf with pfifo", script: "tc qdisc replace dev a root handle 7: tbf rate 5mbit burst 5k limit 90k\ntc qdisc add dev a parent 7:1 handle 8: pfifo limit 9"},
		{name: "fq", script: "tc qdisc replace dev a root handle 7: fq limit 500 flow_limit 50 maxrate 1mbit"},
		{name: "fq_codel", script: "tc qdisc replace dev a root handle 7: fq_codel limit 77 target 7ms interval 70ms noecn"},
		{name: "codel", script: "tc qdisc replace dev a root handle 7: codel limit 77 target 7ms ecn"},
		{name: "sfq", script: "tc qdisc replace dev a root handle 7: sfq limit 100 perturb 10 headdrop"},
		{name: "cake", script: "tc qdisc replace dev a root handle 7: cake bandwidth 5mbit besteffort nat rtt 30ms"},
		{name: "pie", script: "tc qdisc replace dev a root handle 7: pie limit 77 target 7ms"},
		{name: "fq_pie", script: "tc qdisc replace dev a root handle 7: fq_pie limit 77 target 7ms", refused: true},
		{name: "hhf", script: "tc qdisc replace dev a root handle 7: hhf limit 77"},
		{name: "mq", script: "tc qdisc replace dev a root handle 7: mq"},
		{name: "mq with leaves", script: "tc qdisc replace dev a root handle 7: mq\ntc qdisc replace dev a parent 7:2 handle 20: pfifo limit 7\ntc qdisc replace dev a parent 7:3 handle 30: tbf rate 5mbit burst 5k limit 90k"},
		{name: "mq of enable", script: "tc qdisc replace dev a root handle cc00: mq\ntc qdisc replace dev a parent cc00:1 fq\ntc qdisc replace dev a parent cc00:2 fq"},
		{name: "red", script: "tc qdisc replace dev a root handle 7: red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10mbit", refused: true},
		{name: "choke", script: "tc qdisc replace dev a root handle 7: choke limit 400 min 30 max 90 bandwidth 10mbit", refused: true},
		{name: "netem", script: "tc qdisc replace dev a root handle 7: netem delay 10ms", refused: true},
		{name: "prio", script: "tc qdisc replace dev a root handle 7: prio", refused: true},
		{name: "htb", script: "tc qdisc replace dev a root handle 7: htb default 1\ntc class add dev a parent 7: classid 7:1 htb rate 1mbit", refused: true},
		{name: "mq with htb", script: "tc qdisc replace dev a root handle 7: mq\ntc qdisc replace dev a parent 7:1 handle 10: htb", refused: true},
		{name: "fq_codel with a filter", script: "tc qdisc replace dev a root handle 7: fq_codel\ntc filter add dev a parent 7: protocol ip prio 5 u32 match ip dport 80 0xffff flowid 7:3", refused: true},
		{name: "nothing", script: "tc qdisc show"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			mustShell(t, p.a, "ip link del dev a\nip link add name a numtxqueues 4 type veth peer name b2\nip link set dev a up\nip link set dev b2 up")
			mustShell(t, p.a, c.script)
			h := newTestHost(t)
			before := get(t, p.a, change.Egress)
			r := ask(8e6)
			r.Ask.Replace = true
			err := p.a.Do(func() error { _, err := h.Set(r, "test", time.Now(), nil); return err })
			if c.refused {
				pass(t, p.a)
				if now := get(t, p.a, change.Egress); !errors.Is(err, shape.ErrStuck) || now != before {
					t.Errorf("%v, and %q became %q", err, before, now)
				}
				return
			}
			if err != nil || !shape.IsLimit(get(t, p.a, change.Egress)) {
				t.Fatalf("%v, %s", err, get(t, p.a, change.Egress))
			}
			in(t, p.a, func() error { _, err := h.Clear("a", false, time.Now()); return err })
			if now := get(t, p.a, change.Egress); now != before {
				t.Errorf("before %q\nafter  %q", before, now)
			}
		})
	}
}

// pass sends packets through a, of so many flows that each of its queues has some.
func pass(t *testing.T, ns *netns.NS) {
	t.Helper()
	mustShell(t, ns, "ip addr add 192.0.2.1/24 dev a")
	for port := range 64 {
		in(t, ns, func() error {
			c, err := net.Dial("udp4", fmt.Sprintf("192.0.2.255:%d", 1000+port))
			if err != nil {
				return err
			}
			_, err = c.Write([]byte{0})
			return errors.Join(err, c.Close())
		})
	}
}

// What host enable put at a root is ours: it needs no --replace.
func TestOfEnable(t *testing.T) {
	p := newPair(t)
	mustShell(t, p.a, "tc qdisc replace dev a root handle cc00: pfifo limit 7")
	h, before := newTestHost(t), get(t, p.a, change.Egress)
	in(t, p.a, func() error { _, err := h.Set(ask(8e6), "test", time.Now(), nil); return err })
	in(t, p.a, func() error { _, err := h.Clear("a", false, time.Now()); return err })
	if now := get(t, p.a, change.Egress); now != before {
		t.Errorf("before %q\nafter  %q", before, now)
	}
}

// What the kernel makes by itself comes back as it makes it now: the journal may be of
// another default_qdisc or MTU.
func TestKernelsOwnComesBackAsItIsNow(t *testing.T) {
	for name, was := range map[string]string{
		"another kind":       "fq_codel ffffffff 0 0800010000280000",
		"many":               "mq ffffffff 0 -; fq_codel 1 0 0800010000280000; fq_codel 2 0 0800010000280000",
		"nothing when down":  "",
		"leaves below an mq": "mq ffffffff 70000 -; fq_codel 70001 0 0800010000280000; pfifo 70002 200000 07000000",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			if strings.HasPrefix(name, "leaves") {
				mustShell(t, p.a, "ip link del dev a\nip link add name a numtxqueues 2 type veth peer name b2\nip link set dev a up")
			}
			h := newTestHost(t)
			const limit = "shaped 1000000 3028 103028 -"
			journalled(t, h, was, limit)
			set(t, p.a, change.Egress, limit)
			in(t, p.a, func() error {
				r, err := h.Clear("a", false, time.Now())
				if err != nil || len(r.Refused) > 0 || len(r.Restored) != 1 {
					t.Errorf("%+v, %v", r, err)
					return nil
				}
				if said := strings.Contains(r.Restored[0].Text, "kernel's default"); said == strings.HasPrefix(name, "leaves") {
					t.Errorf("says %q", r.Restored[0].Text)
				}
				return err
			})
			if got := get(t, p.a, change.Egress); shape.IsLimit(got) {
				t.Errorf("is %q", got)
			}
		})
	}
}

// An MTU that changed since the set does not hold clear up.
func TestClearAfterAnotherMTU(t *testing.T) {
	p := newPair(t)
	mustShell(t, p.a, "ip link del dev a\nip link add name a type ifb\nip link set dev a up") // an ifb has a queue of the kernel's own
	h := newTestHost(t)
	in(t, p.a, func() error { _, err := h.Set(ask(8e6), "test", time.Now(), nil); return err })
	mustShell(t, p.a, "ip link set dev a mtu 1400")
	in(t, p.a, func() error {
		r, err := h.Clear("a", false, time.Now())
		if len(r.Refused) > 0 || shape.IsLimit(get(t, p.a, change.Egress)) {
			t.Errorf("%+v, %s", r, get(t, p.a, change.Egress))
		}
		return err
	})
}

// Ingress rules that somebody put in the place of ours, or beside them, stay.
func TestForeignIngressStays(t *testing.T) { eachCatchall(t, foreignIngressStays) }

func foreignIngressStays(t *testing.T, _ string) {
	const theirs = "tc filter add dev a ingress prio 9 protocol all u32 match u32 0 0 classid 1:1"
	for _, c := range []struct {
		name, script string
		force        bool // ours has gone: clear says so first
	}{
		{"another qdisc", "tc qdisc del dev a ingress\ntc qdisc add dev a clsact\n" + theirs, true},
		{"the same kind", "tc qdisc del dev a ingress\ntc qdisc add dev a ingress\n" + theirs, true},
		{"beside ours", theirs, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			h, r := newTestHost(t), ask(8e6)
			r.Ask.Ingress = 8e6
			setOrSkip(t, p, h, r)
			mustShell(t, p.a, c.script)
			in(t, p.a, func() error {
				report, err := h.Clear("a", false, time.Now())
				if (len(report.Refused) == 1) != c.force || err != nil {
					t.Errorf("%+v, %v", report, err)
				}
				if c.force {
					_, err = h.Clear("a", true, time.Now())
				}
				return err
			})
			if got := get(t, p.a, change.Ingress); got != change.NoIngress {
				t.Errorf("is %q", got)
			}
			if !strings.Contains(output(t, p.a, "tc filter show dev a ingress"), "pref 9") {
				t.Error("their filter has gone")
			}
		})
	}
}

func output(t *testing.T, ns *netns.NS, line string) string {
	t.Helper()
	words := strings.Fields(line)
	cmd := exec.Command(words[0], words[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := errors.Join(ns.Start(cmd), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
