package enforce

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/privilege"
)

func TestLackingCapabilities(t *testing.T) {
	const bpf, perfmon, net, sys = unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN
	for effective, want := range map[privilege.Set]string{
		^privilege.Set(0):               "none",
		privilege.Of(bpf, perfmon, net): "none",
		privilege.Of(sys, net):          "none", // as before Linux 5.8
		privilege.Of(bpf, net):          "CAP_PERFMON",
		privilege.Of(perfmon, net):      "CAP_BPF",
		privilege.Of(sys):               "CAP_NET_ADMIN",
		0:                               "CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF",
	} {
		if got := lacking(effective).String(); got != want {
			t.Errorf("%s lacks %q, want %q", effective, got, want)
		}
	}
}

// TestHeldTo: a configuration lowers what the kernel can do, and raises nothing.
func TestHeldTo(t *testing.T) {
	for _, c := range []struct {
		kernel Tier
		asked  string
		want   Tier
		says   string
	}{
		{TierFull, "", TierFull, "why"},
		{TierGood, "", TierGood, "why"},
		{TierObserve, "", TierObserve, "why"},
		{TierFull, "observe", TierObserve, "limited to it by the configuration; this kernel allows full"},
		{TierGood, "observe", TierObserve, "limited to it by the configuration; this kernel allows good"},
		{TierObserve, "observe", TierObserve, "why"},
	} {
		got := Probe{Tier: c.kernel, Reasons: []string{"why"}}.HeldTo(c.asked)
		if says := strings.Join(got.Reasons, "; "); got.Tier != c.want || says != c.says {
			t.Errorf("%s held to %q: %s, %q", c.kernel, c.asked, got.Tier, says)
		}
	}
}
