package distro

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// packages is an archive of two debs, old.deb and new.deb, a store of schema 1, a fleet's certificates, and the containers' seccomp profile.
var packages = sync.OnceValues(makePackages)

func makePackages() (string, error) {
	dir, err := newFolder()
	if err != nil {
		return "", err
	}
	build := exec.Command("bash", "-c", `set -e
		for v in old:0.0.1 new:0.0.2; do
			ARCHS=amd64 FORMATS=deb SMALL= VERSION=${v#*:} tools/release.sh "$0/${v%:*}"
			mv "$0/${v%:*}"/*.deb "$0/${v%:*}.deb"
		done
		`+fleetCerts+`
		{ cat internal/loop/store/sqlite/testdata/v1.sql; echo "DELETE FROM plans; DELETE FROM settings WHERE key = 'salt';"; } | sqlite3 "$0/congctl.db" # neither is one
		tar -C "$0" -cf "$0/all.tar" old.deb new.deb congctl.db fleet -C "$PWD/packaging/container" seccomp.json`, dir)
	build.Dir = tree
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make packages: %w: %s", err, out)
	}
	return filepath.Join(dir, "all.tar"), nil
}

// installed installs the old package, which starts nothing, and returns how long that took; then a person writes the
// configuration, and the new package leaves it alone.
func installed(t *testing.T, r *Running) (apt time.Duration) {
	t.Helper()
	must(t, r, "cd /tmp && tar -xf /dev/vda")
	began := time.Now()
	must(t, r, "apt-get -qq install /tmp/old.deb")
	apt = time.Since(began)
	idle := "systemctl is-enabled congctl congctl-agent congctl-controller congctl-ingest | sort -u; systemctl is-active congctl; congctl version | head -n 1"
	wantWord(t, r, idle, "disabled\ninactive\nversion   0.0.1\n")
	must(t, r, "congctl config check && cat >/etc/congctl/congctl.yml <<'END'\n"+unitConfig+"END\n")
	must(t, r, "cp /etc/congctl/congctl.yml /tmp/mine && dpkg -i /tmp/new.deb && cmp /tmp/mine /etc/congctl/congctl.yml")
	wantWord(t, r, idle, "disabled\ninactive\nversion   0.0.2\n")
	return apt
}

// survived has the new version start on a store of schema 1, which remembers a stop, and then
// through kill -9 and a reboot.
func survived(t *testing.T, m Machine, r *Running) *Running {
	t.Helper()
	must(t, r, "rm -r /var/lib/congctl/* && install -m 600 /tmp/congctl.db /var/lib/congctl && systemctl start congctl && until congctl events; do sleep 0.2; done && ls /var/lib/congctl/congctl.db.backup-v1-*")
	wantWord(t, r, "congctl events", "stopped by hand")
	must(t, r, "was=$(systemctl show -P MainPID congctl); kill -9 $was; until now=$(systemctl show -P MainPID congctl); [ $now != 0 ] && [ $now != $was ]; do sleep 0.2; done; until congctl events; do sleep 0.2; done")
	must(t, r, "sync")
	r = again(t, m, r)
	wantWord(t, r, "until congctl events; do sleep 0.2; done", "stopped by hand")
	return r
}

// removed leaves the configuration and the data, and purged none.
func removed(t *testing.T, r *Running) {
	t.Helper()
	must(t, r, "pid=$(systemctl show -P MainPID congctl) && dpkg -r congctl && ! [ -e /proc/$pid ]")
	const left = "find / -xdev -path '*congctl*' ! -path '/tmp/*' ! -path '/usr/local/*' ! -path '/var/lib/dpkg/*' ! -path '/var/log/*' ! -path '/var/lib/congctl/*' | sort"
	if got, want := must(t, r, left), "/etc/congctl\n/etc/congctl/congctl.yml\n/var/lib/congctl\n"; got != want {
		t.Errorf("after remove there is %q, want %q", got, want)
	}
	must(t, r, "test -s /var/lib/congctl/congctl.db && dpkg --purge congctl")
	if got := must(t, r, left); got != "" {
		t.Errorf("after purge there is %q", got)
	}
}
