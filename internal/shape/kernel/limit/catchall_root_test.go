package limit

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/linux/qdisc"
	"github.com/congctl/congctl/internal/shape"
)

// eachCatchall runs a test with each of the filters that can lead what comes in to the ifb;
// set and setOrSkip skip where this kernel lacks it.
func eachCatchall(t *testing.T, test func(t *testing.T, kind string)) {
	for _, kind := range qdisc.Catchalls {
		t.Run(kind, func(t *testing.T) {
			catchalls = []string{kind}
			t.Cleanup(func() { catchalls = qdisc.Catchalls })
			test(t, kind)
		})
	}
}

// What comes in is held to its rate, in bytes of the wire and of the receiver.
func TestIngressRates(t *testing.T) {
	needVirtual(t)
	eachCatchall(t, func(t *testing.T, _ string) {
		p := newPair(t)
		goal := target(t, p.a, shape.Ask{Rate: 1e9, Ingress: 1e6})
		set(t, p.a, change.Ingress, value(*goal.Ingress, "").Text)
		checkRate(t, p.flood(t, true), *goal.Ingress, 250)
	})
}

// Both filters are what tc makes of the same words.
func TestRedirectIsAsOfTC(t *testing.T) {
	words := map[string]string{"matchall": "handle 1 matchall", "u32": "handle 800::1 u32 match u32 0 0"}
	eachCatchall(t, func(t *testing.T, kind string) {
		p := newPair(t)
		show := func() string {
			text := output(t, p.a, "tc filter show dev a ingress")
			return regexp.MustCompile(`index \d+`).ReplaceAllString(text, "index N")
		}
		set(t, p.a, change.Ingress, "shaped 500000 3028 53028 -")
		ours := show()
		ifb := regexp.MustCompile(`ifb-cc\d+`).FindString(ours)
		mustShell(t, p.a, "tc filter del dev a ingress prio 1\ntc filter add dev a parent ffff: prio 1 protocol all "+words[kind]+" action mirred egress redirect dev "+ifb)
		if tc := show(); ifb == "" || ours != tc {
			t.Errorf("ours\n%s\nof tc\n%s", ours, tc)
		}
		if got := get(t, p.a, change.Ingress); got != "shaped 500000 3028 53028 -" {
			t.Errorf("that of tc is read as %q", got)
		}
	})
}

// A filter of somebody else in the very priority of our u32 stays.
func TestForeignBesideOurU32(t *testing.T) {
	p := newPair(t)
	catchalls = []string{"u32"}
	t.Cleanup(func() { catchalls = qdisc.Catchalls })
	h, r := newTestHost(t), ask(8e6)
	r.Ask.Ingress = 8e6
	setOrSkip(t, p, h, r)
	mustShell(t, p.a, "tc filter add dev a ingress prio 1 protocol all u32 match u32 7 7 at 0 classid 1:1")
	mustClear(t, p, h)
	left := output(t, p.a, "tc filter show dev a ingress")
	if !strings.Contains(left, "match 00000007/00000007") || strings.Contains(left, "mirred") {
		t.Errorf("left is\n%s", left)
	}
}

// A kernel without any such filter: the answer names the modules, and nothing is left.
func TestIngressNeedsAFilter(t *testing.T) {
	p := newPair(t)
	before := settings(t, p)
	catchalls = []string{"nosuch", "nosuch2"}
	t.Cleanup(func() { catchalls = qdisc.Catchalls })
	h, r := newTestHost(t), ask(8e6)
	r.Ask.Ingress = 8e6
	err := p.a.Do(func() error { _, err := h.Set(r, "test", time.Now(), nil); return err })
	const want = "sudo modprobe cls_nosuch or cls_nosuch2, or boot a kernel with CONFIG_NET_CLS_NOSUCH or CONFIG_NET_CLS_NOSUCH2"
	if !errors.Is(err, qdisc.ErrUnknown) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	for kind, v := range settings(t, p) {
		if v != before[kind] {
			t.Errorf("%s: before %q, after %q", kind, before[kind], v)
		}
	}
	if links := output(t, p.a, "ip link"); strings.Contains(links, "ifb-cc") {
		t.Errorf("an ifb is left: %s", links)
	}
}
