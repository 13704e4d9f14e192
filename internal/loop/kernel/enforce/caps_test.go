package enforce

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLackingCapabilities(t *testing.T) {
	const bpf, perfmon, net, sys = 1 << unix.CAP_BPF, 1 << unix.CAP_PERFMON, 1 << unix.CAP_NET_ADMIN, 1 << unix.CAP_SYS_ADMIN
	for effective, want := range map[uint64]string{
		^uint64(0):          "",
		bpf | perfmon | net: "",
		sys | net:           "", // as before Linux 5.8
		bpf | net:           "CAP_PERFMON",
		perfmon | net:       "CAP_BPF",
		sys:                 "CAP_NET_ADMIN",
		0:                   "CAP_BPF CAP_PERFMON CAP_NET_ADMIN",
	} {
		if got := strings.Join(lacking(effective), " "); got != want {
			t.Errorf("%#x lacks %q, want %q", effective, got, want)
		}
	}
}

// TestHeldTo: routes treat whole connections, so only who asks for them gets them.
func TestHeldTo(t *testing.T) {
	for _, c := range []struct {
		kernel Tier
		asked  string
		want   Tier
		says   string
	}{
		{TierFull, "", TierFull, "why"},
		{TierGood, "", TierGood, "why"},
		{TierBasic, "", TierObserve, "why; congctl treats by routes only where `tier: route` asks for it"},
		{TierRoute, "", TierObserve, "why; congctl treats by routes only where `tier: route` asks for it"},
		{TierObserve, "", TierObserve, "why"},
		{TierFull, "route", TierRoute, "limited to it by the configuration; this kernel allows full"},
		{TierBasic, "route", TierRoute, "limited to it by the configuration; this kernel allows basic"},
		{TierRoute, "route", TierRoute, "why"},
		{TierRoute, "observe", TierObserve, "limited to it by the configuration; this kernel allows route"},
		{TierObserve, "route", TierObserve, "why"},
	} {
		got := Probe{Tier: c.kernel, Reasons: []string{"why"}}.HeldTo(c.asked)
		if says := strings.Join(got.Reasons, "; "); got.Tier != c.want || says != c.says {
			t.Errorf("%s held to %q: %s, %q", c.kernel, c.asked, got.Tier, says)
		}
	}
}
