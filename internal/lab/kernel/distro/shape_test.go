package distro

import (
	"strings"
	"testing"
)

// shapePersists: a limit is there again after a reboot, set by what runs the link, until it is cleared.
func shapePersists(t *testing.T, m Machine, r *Running) *Running {
	t.Helper()
	// A bucket alone is what networkd can make; one with fq_codel below is for a unit.
	wantKeeper(t, must(t, r, "congctl shape set enp0s4 1MB/s --burst 200KiB --queue 1MiB --persist"), "networkd")
	wantKeeper(t, must(t, r, "congctl shape set enp0s5 10Mbit/s --inner fq_codel --persist"), "systemd")
	live := stateOf(t, r)
	wantLimits(t, r)
	r = again(t, m, r)
	// The unit starts when the card appears, at the same time as all else.
	must(t, r, "systemctl is-system-running --wait || true")
	wantLimits(t, r)
	wantState(t, r, live)
	must(t, r, "congctl shape clear enp0s4 && congctl shape clear enp0s5")
	return r
}

// shapeByNetworkManagerPersists: the same where NetworkManager runs the link.
func shapeByNetworkManagerPersists(t *testing.T, m Machine, r *Running) {
	t.Helper()
	must(t, r, networkManager)
	r = again(t, m, r)
	before := stateOf(t, r)
	wantKeeper(t, must(t, r, "congctl shape set enp0s4 1MB/s --burst 200KiB --queue 1MiB --persist"), "NetworkManager")
	wantSeedCase(t, r)
	r = again(t, m, r)
	wantSeedCase(t, r)
	must(t, r, "congctl shape clear enp0s4")
	wantState(t, r, before)
	r = again(t, m, r)
	wantState(t, r, before)
}

// networkManager has it run both links from the next boot on.
const networkManager = `
keyfile() { # LINK ADDRESS UUID
	(umask 077; cat >/etc/NetworkManager/system-connections/$1.nmconnection <<-EOF
		[connection]
		id=$1
		uuid=$3
		type=ethernet
		interface-name=$1

		[ipv4]
		method=manual
		address1=$2
	EOF
	)
}
keyfile enp0s4 192.0.2.2/24 5d3cfd2e-3ae9-4f3c-8fc5-6e2ae1ce0f0a
keyfile enp0s5 198.51.100.2/24 0bb2c9f8-0f5e-4b58-9e52-4f2a0d7a4e1d
systemctl -q disable systemd-networkd systemd-networkd.socket
systemctl -q enable NetworkManager
sync`

func wantKeeper(t *testing.T, said, keeper string) {
	t.Helper()
	if !strings.Contains(said, keeper) {
		t.Errorf("the limit is not kept by %s", keeper)
	}
}

// wantLimits asks tc and not congctl what the kernel has.
func wantLimits(t *testing.T, r *Running) {
	t.Helper()
	wantSeedCase(t, r)
	q := must(t, r, "tc qdisc show dev enp0s5")
	for _, part := range []string{"qdisc tbf ", " root ", " rate 10Mbit ", "qdisc fq_codel "} {
		if !strings.Contains(q, part) {
			t.Errorf("the limit of enp0s5 has no %q", part)
		}
	}
}

func wantSeedCase(t *testing.T, r *Running) {
	t.Helper()
	q := must(t, r, "tc qdisc show dev enp0s4")
	for _, part := range []string{"qdisc tbf c0c7: root ", " rate 8Mbit burst 200Kb lat 844ms "} {
		if !strings.Contains(q, part) {
			t.Errorf("the limit of enp0s4 has no %q", part)
		}
	}
}

// outlivesTheSession: a session is a scope, which logind stops with all that
// is in it (KillUserProcesses). A limit that waits to be confirmed still waits then; where
// what waits cannot have a scope of its own, the limit goes with the session.
func outlivesTheSession(t *testing.T, r *Running) {
	t.Helper()
	before := must(t, r, "tc qdisc show")
	said := must(t, r, "cp /usr/bin/systemd-run /usr/bin/session"+session+"cat /proc/$(pgrep -f '[s]hape revert enp0s4')/cgroup")
	if !strings.Contains(said, "/user.slice/session-1.scope") || !strings.Contains(said, "0::/system.slice/run-") {
		t.Error("there was no session, or what reverts is in it")
	}
	if limited := must(t, r, "tc qdisc show dev enp0s4"); !strings.Contains(limited, "qdisc tbf c0c7: root ") {
		t.Error("the limit went with the session")
	}
	must(t, r, "congctl shape clear enp0s4 && mv /usr/bin/systemd-run /tmp"+session+"while tc qdisc show dev enp0s4 | grep tbf; do sleep 0.2; done")
	must(t, r, "mv /tmp/systemd-run /usr/bin && rm /usr/bin/session")
	if now := must(t, r, "tc qdisc show"); now != before {
		t.Errorf("not as before: %s, then %s", before, now)
	}
}

// session sets a limit in a session, and ends it.
const session = `
	session --quiet --scope --slice=user.slice --unit=session-1 bash -c '
		sleep 36000 </dev/null >/dev/null 2>&1 &
		cat /proc/self/cgroup
		congctl shape set enp0s4 8Mbit/s --confirm --confirm-within 1h'
	systemctl stop session-1.scope
	! pgrep -f "^sleep 36000" || exit 1
	`
