package distro

import "testing"

// fleetCerts makes, in the folder fleet, an authority and certificates of a controller and an agent.
const fleetCerts = `mkdir "$0/fleet"
		(cd "$0/fleet"
			new() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$1.key" "${@:2}"; }
			new ca -x509 -days 2 -out ca.pem
			for part in controller/one agent/lab/edge-1; do
				name=${part%%/*}
				new "$name" -addext "subjectAltName=URI:congctl://$part,IP:127.0.0.1" -out "$name.csr"
				openssl x509 -req -in "$name.csr" -CA ca.pem -CAkey ca.key -days 2 -copy_extensions copy -out "$name.pem"
			done) 2>&1`

// fleetUnits: agent, controller and ingest in their units. Each is started when it does its work, says
// what it lacks (the ingest has no Kafka), and is started anew when its watchdog hears nothing.
func fleetUnits(t *testing.T, r *Running) {
	t.Helper()
	must(t, r, fleetConfigs)
	must(t, r, "systemctl start congctl-controller congctl-ingest")
	wantWord(t, r, "stat -c %U /proc/$(systemctl show -P MainPID congctl-controller) /var/lib/congctl-controller; pid=$(systemctl show -P MainPID congctl-ingest); grep -q credentials/congctl-ingest.service/ingest.yml /proc/$pid/cmdline && [ $(stat -c %u /proc/$pid) != 0 ]",
		"congctl\ncongctl\n")
	wantWord(t, r, "congctl token add board --role viewer -c /etc/congctl/controller.yml >/dev/null && stat -c '%U %a' /var/lib/congctl-controller/tokens", "congctl 600\n")
	must(t, r, agentConfig+"systemctl start congctl-agent")
	for _, unit := range []string{"congctl-agent", "congctl-controller", "congctl-ingest"} {
		wantWord(t, r, "systemctl show -p Type,NotifyAccess,WatchdogUSec,ActiveState,SubState "+unit+" | sort",
			"ActiveState=active\nNotifyAccess=main\nSubState=running\nType=notify\nWatchdogUSec=1min 30s\n")
	}
	must(t, r, "until systemctl show -P StatusText congctl-agent congctl-controller | grep -cx 'all is well' | grep -qx 2; do sleep 0.5; done")
	must(t, r, "until systemctl show -P StatusText congctl-ingest | grep 'connection refused'; do sleep 0.5; done; congctl status")

	// A drop-in of all three. The watchdogs of all run out at the same time; where this host stands still for 5 s, once more.
	must(t, r, `d=/etc/systemd/system/congctl-.service.d; mkdir $d
		printf '[Service]\nWatchdogSec=5s\nRestartSec=100ms\n' >$d/quick.conf
		systemctl daemon-reload && systemctl restart congctl-agent congctl-controller congctl-ingest`)
	must(t, r, `units="congctl-agent congctl-controller congctl-ingest"
		kill -STOP $(systemctl show -P MainPID $units)
		timeouts() { journalctl -q -o cat -u $1 | grep -c 'Watchdog timeout'; }
		for unit in $units; do until n=$(systemctl show -P NRestarts $unit); [ $n -ge 1 ] && [ $n = $(timeouts $unit) ] && systemctl -q is-active $unit; do sleep 0.2; done; done
		for unit in $units; do journalctl -q -o cat -u $unit | grep -E 'Watchdog timeout|code=|SIGABRT: abort' | sort -u; done`)
	must(t, r, "systemctl stop congctl-agent congctl-controller congctl-ingest && ! systemctl is-failed congctl-agent congctl-controller congctl-ingest")
	must(t, r, "rm -r /etc/systemd/system/congctl-.service.d /etc/systemd/system/congctl-agent.service.d /etc/congctl/fleet /etc/congctl/{agent,controller,ingest}.yml /var/lib/congctl-controller && systemctl daemon-reload")
}

// Nothing listens on port 1. An agent's metrics have the port of a controller's agents.
const fleetConfigs = `mv /tmp/fleet /etc/congctl/ && chmod 600 /etc/congctl/fleet/*.key && cd /etc/congctl && chgrp congctl fleet/controller.key && chmod 640 fleet/controller.key
	trust() { echo "cert: /etc/congctl/fleet/$1.pem, key: /etc/congctl/fleet/$1.key, ca: /etc/congctl/fleet/ca.pem"; }
	cat >controller.yml <<-END
		window: 5s
		state_dir: /var/lib/congctl-controller
		fleet: {pops: [lab], listen: "127.0.0.1:9477", lateness: 2s, $(trust controller)}
	END
	cat >ingest.yml <<-END
		kafka: kafka://127.0.0.1:1/congctl.records
		clickhouse: clickhouse://127.0.0.1:1/congctl
	END
	chmod 600 *.yml && chgrp congctl controller.yml && chmod 640 controller.yml
	# The agent with the system calls that containers have, and no others.
	d=/etc/systemd/system/congctl-agent.service.d; mkdir $d
	calls=$(sed -n '/"names"/,$p' /tmp/seccomp.json | grep -o '"[a-z0-9_]*"' | grep -v names | tr -d '"' | tr '\n' ' ')
	printf '[Service]\nSystemCallFilter=\nSystemCallFilter=%s\n' "$calls" >$d/calls.conf
	systemctl daemon-reload
`

const agentConfig = `cd /etc/congctl
	key= # the journal may be behind the start
	until [ -n "$key" ]; do
		sleep 0.2
		key=$(journalctl -q -o cat -u congctl-controller | sed -n 's/.*plan key \([0-9a-f]*\).*/\1/p' | head -n 1)
	done
	cat >agent.yml <<-END
		window: 5s
		poll: 500ms
		clients: {allow: [127.0.0.0/8]}
		starved: {steal_share: 1, run_queue_per_cpu: 1000}
		metrics: {listen: "127.0.0.1:9480"}
		fleet:
		  controller: https://127.0.0.1:9477
		  plan_keys: [$key]
		  cert: /etc/congctl/fleet/agent.pem
		  key: /etc/congctl/fleet/agent.key
		  ca: /etc/congctl/fleet/ca.pem
	END
	`
