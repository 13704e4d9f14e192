package distro

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDebianHost: on a Debian whose power is cut while BBR is turned on and off, the next verb finishes. Two links are limited, and still
// are after a reboot; cleared, all is as before. BBR is turned on for good, and every value is as before when it is turned off, both now
// and after a reboot. Then one of the links, run by NetworkManager. It is one machine, since a boot is half a minute of emulation.
func TestDebianHost(t *testing.T) {
	m, r := debian(t)
	before := stateOf(t, r)
	r = finishedAfterCuts(t, m, r, before) // first: the moments are counted where congctl has written nothing yet
	outlivesTheSession(t, r)
	wantState(t, r, before)
	r = shapePersists(t, m, r)
	wantState(t, r, before)

	wantOff(t, r)
	if found := exits(t, r, 1, "congctl host check"); !strings.Contains(found, "cubic") || !strings.Contains(found, "pfifo_fast") {
		t.Errorf("check does not tell of cubic and pfifo_fast")
	}
	must(t, r, "congctl host enable bbr")
	wantOn(t, r)
	r = again(t, m, r)
	wantOn(t, r)
	must(t, r, "congctl host enable bbr") // nothing to do

	must(t, r, "congctl host disable")
	wantOff(t, r)
	wantState(t, r, before)
	r = again(t, m, r)
	wantOff(t, r)
	wantState(t, r, before)

	shapeByNetworkManagerPersists(t, m, r)
}

// connection opens one to a service of the machine itself and shows what ss sees of it.
// The service starts anew each time: a listener hands on the congestion control of the
// moment when it was made.
func connection(t *testing.T, r *Running, host, address string) string {
	t.Helper()
	return must(t, r, "host="+host+" address="+address+`
		systemd-socket-activate -a --inetd -l $address cat 2>/dev/null &
		until exec 5<>/dev/tcp/$host/7777; do sleep 0.1; done 2>/dev/null
		echo hello >&5; read -r answer <&5
		ss -Htni state established
		kill $!
		[ "$answer" = hello ]`)
}

func wantCongestionControl(t *testing.T, r *Running, cc string) {
	t.Helper()
	for host, address := range map[string]string{"127.0.0.1": "127.0.0.1:7777", "::1": "[::1]:7777"} {
		seen := connection(t, r, host, address)
		if n := strings.Count(seen, "\t "+cc+" "); n != 2 {
			t.Errorf("%d ends of a new connection to %s have %s, want 2", n, host, cc)
		}
	}
}

// wantQueues asks for a qdisc on the card with one queue, and below the mq of the card with two.
func wantQueues(t *testing.T, r *Running, kind string) {
	t.Helper()
	if q := must(t, r, "tc qdisc show dev enp0s4"); !strings.HasPrefix(q, "qdisc "+kind+" ") || strings.Count(q, "qdisc ") != 1 {
		t.Errorf("the live interface does not have %s", kind)
	}
	q := must(t, r, "tc qdisc show dev enp0s5")
	if !strings.HasPrefix(q, "qdisc mq ") || strings.Count(q, "qdisc "+kind+" ") != 2 || strings.Count(q, "qdisc ") != 3 {
		t.Errorf("the live interface with two queues does not have two of %s below mq", kind)
	}
}

func wantOn(t *testing.T, r *Running) {
	t.Helper()
	wantCongestionControl(t, r, "bbr")
	wantQueues(t, r, "fq")
	if v := must(t, r, "sysctl -n net.core.default_qdisc net.ipv4.tcp_congestion_control"); v != "fq\nbbr\n" {
		t.Errorf("sysctls are %q", v)
	}
}

func wantOff(t *testing.T, r *Running) {
	t.Helper()
	wantCongestionControl(t, r, "cubic")
	wantQueues(t, r, "pfifo_fast")
}

func wantState(t *testing.T, r *Running, want state) {
	t.Helper()
	got := stateOf(t, r)
	if !slices.Equal(got.boot, want.boot) {
		got.boot, got.memory = want.boot, want.memory
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(state{})); diff != "" {
		t.Errorf("not as before (-before +now):\n%s", diff)
	}
}
