package distro

import (
	"strings"
	"testing"
	"time"
)

// TestDebianUnit: the package, and etc/congctl.service in it. Below its restrictions congctl
// treats, reloads, stops, resumes and ends as without, in other namespaces too; and
// systemd-analyze finds little to attack (3.0 of 10).
func TestDebianUnit(t *testing.T) {
	m, r := bare(t, packages)
	apt := installed(t, r)
	must(t, r, "systemd-analyze verify --man=no congctl{,-agent,-controller,-ingest}.service && systemd-analyze security --offline=true --threshold=30 /usr/lib/systemd/system/congctl*.service >/tmp/security || { cat /tmp/security; false; }")

	began := time.Now()
	must(t, r, firstWindow)
	t.Logf("apt install took %s, then the first window (5 s) was on the dashboard after %s", apt, time.Since(began))
	wantWord(t, r, "congctl status --wait 60s", "good: ")
	// CAP_BPF, CAP_NET_ADMIN.
	wantWord(t, r, statusOfUnit, "CapPrm:\t0000008000001000\nCapEff:\t0000008000001000\nCapBnd:\t0000008000001000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n")
	wantWord(t, r, "stat -c '%U:%G %a' /run/congctl/congctl.sock /var/lib/congctl", "root:adm 660\nroot:root 700\n")
	must(t, r, "ls /run/dbus/system_bus_socket && ! ls /proc/$(systemctl show -P MainPID congctl)/root/run/dbus/system_bus_socket")
	wantTransfer(t, r, "bbr")

	must(t, r, "sed -i 's/max: 400/max: 300/' /etc/congctl/congctl.yml && systemctl reload congctl")
	must(t, r, "until congctl events | grep -q 'plan.max is 300 (was 400)'; do sleep 0.2; done")
	must(t, r, "congctl stop")
	wantTransfer(t, r, "cubic")
	must(t, r, "congctl resume")
	wantTransfer(t, r, "bbr")

	must(t, r, "ip netns add island && install -d -o nobody -m 700 /var/log/web && install -o nobody -m 600 /dev/null /var/log/web/access.log")
	must(t, r, "sed -i 's/netns: own/netns: all/' /etc/congctl/congctl.yml && echo 'goodput: {access_logs: [/var/log/web/access.log]}' >>/etc/congctl/congctl.yml && systemctl restart congctl")
	must(t, r, "until congctl status -o json | grep -q '\"island\"'; do sleep 0.2; done") // a name below /run/netns, which the host mounts
	// And CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH.
	wantWord(t, r, statusOfUnit, "CapEff:\t0000008000281004\n")
	must(t, r, "ip netns add later; until congctl status -o json | grep -q '\"later\"'; do sleep 0.2; done")
	wantTransfer(t, r, "bbr")
	must(t, r, "mv /var/log/web/access.log /var/log/web/access.log.1 && install -o nobody -m 600 /dev/null /var/log/web/access.log")
	must(t, r, "until ls -l /proc/$(systemctl show -P MainPID congctl)/fd | grep -q '/web/access.log$'; do sleep 0.2; done; congctl status || true")

	must(t, r, "systemctl stop congctl && [ \"$(systemctl show -p Result congctl)\" = Result=success ]")
	exits(t, r, 3, "congctl status")
	if log := must(t, r, "journalctl -q -o cat -u congctl"); !strings.Contains(log, "down\n") || strings.Contains(log, "not permitted") || strings.Contains(log, "denied") {
		t.Errorf("something is not permitted, or there was no orderly end")
	}
	fleetUnits(t, r)
	removed(t, survived(t, m, r))
}

const unitConfig = `
window: 5s
poll: 500ms
netns: own
socket_group: adm
clients: {allow: [127.0.0.0/8]}
treatment: {default_cong: cubic, always: [127.0.0.0/24 this machine], control: "off"}
plan: {max: 400, allow_prefixes: [127.0.0.0/8]}
starved: {steal_share: 1, run_queue_per_cpu: 1000}
`

// firstWindow prints the seconds until the dashboard answers, and until it has a window that has ended.
const firstWindow = `
	ask() { exec 5<>/dev/tcp/127.0.0.1/9477 && printf 'POST /api/pop/%s/v1/status HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}' "$pop" >&5 && cat <&5; }
	pop=$(uname -n)
	systemctl enable --now congctl
	until ask | grep -q '"running":true'; do sleep 0.2; done 2>/dev/null
	echo "dashboard after $SECONDS s"
	until ask | grep -q '"round_unix_s":[1-9]'; do sleep 0.2; done
	echo "first window of 5 s on the dashboard after $SECONDS s"`

const statusOfUnit = "grep -E '^(Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/$(systemctl show -P MainPID congctl)/status"

func wantWord(t *testing.T, r *Running, script, want string) {
	t.Helper()
	if got := must(t, r, script); !strings.Contains(got, want) {
		t.Errorf("no %q", want)
	}
}

// wantTransfer waits until the server's end of a new connection runs cc after three megabytes:
// the plan is put in force at a window's end.
func wantTransfer(t *testing.T, r *Running, cc string) {
	t.Helper()
	must(t, r, `
		serve() { systemd-socket-activate -a --inetd -l 127.0.0.1:7777 sh -c 'head -c 3000000 /dev/zero; read -r end' 2>/dev/null & }
		serve
		until
			until exec 5<>/dev/tcp/127.0.0.1/7777; do sleep 0.1; done 2>/dev/null
			head -c 3000000 <&5 >/dev/null
			runs=$(ss -Htni state established sport = :7777)
			echo end >&5; exec 5>&-
			echo "$runs" | grep -q ' `+cc+` '
		do sleep 0.5; done
		kill $!; wait`)
}
