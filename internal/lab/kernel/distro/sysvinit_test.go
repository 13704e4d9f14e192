package distro

import (
	"strings"
	"testing"
)

// TestDebianWithoutSystemd: what is promised of a boot holds where sysvinit runs it.
func TestDebianWithoutSystemd(t *testing.T) {
	m, r := fresh(t, func(image string) string { return RunBy("sysvinit", image) })
	must(t, r, "[ ! -e /run/systemd/system ] && [ ! -e /run/openrc ]")
	outlivesReboot(t, m, r)
}

// TestDebianOpenRC: and where OpenRC does; Debian's has no service sysctl, and none that
// runs /etc/local.d, but runs the scripts of sysvinit.
func TestDebianOpenRC(t *testing.T) {
	m, r := fresh(t, func(image string) string { return RunBy("openrc", image) })
	must(t, r, "[ -e /run/openrc/softlevel ]")
	outlivesReboot(t, m, r)
}

// outlivesReboot has BBR on and a link limited by rc.local, and all of it taken back.
func outlivesReboot(t *testing.T, m Machine, r *Running) {
	t.Helper()
	must(t, r, `printf '#!/bin/sh\n# what an administrator has\nexit 0\n' >/etc/rc.local; chmod 755 /etc/rc.local; sync`)
	before := stateOf(t, r)
	wantOff(t, r)
	found := exits(t, r, 1, "congctl host check --all")
	for _, part := range []string{"cubic", "pfifo_fast", "procps sets sysctls at boot"} {
		if !strings.Contains(found, part) {
			t.Errorf("check does not tell of %s", part)
		}
	}

	must(t, r, "congctl host enable bbr")
	wantOn(t, r)
	wantKeeper(t, must(t, r, "congctl shape set enp0s4 1MB/s --burst 200KiB --queue 1MiB --persist"), "rc.local")
	wantSeedCase(t, r)
	r = again(t, m, r)
	wantSeedCase(t, r)
	must(t, r, "congctl shape clear enp0s4")
	wantOn(t, r)

	wantTakenBack(t, m, r, before)
}
