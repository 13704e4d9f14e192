#!/usr/bin/env bash
# demo-fleet.sh shows a fleet on this machine, in namespaces of its own: real downloads over paths
# that lose packets, Kafka, ClickHouse, two controllers, and the plan in five kernels' hands. It is
# the test that CI runs, with its story on the terminal.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(id -u)" -ne 0 ]; then
	echo "make demo-fleet needs root, for network namespaces, cgroups and eBPF: sudo make demo-fleet" >&2
	exit 1
fi
tools/need-go.sh
tools/need.sh openjdk-17-jre-headless:java maven:mvn dpkg:dpkg-deb apt:apt-get
echo "Kafka and ClickHouse are brought to .cache, once"
CONGCTL_KAFKA_CACHE=$(tools/kafka.sh "$PWD/.cache/kafka")
CONGCTL_CLICKHOUSE_CACHE=$(tools/clickhouse.sh "$PWD/.cache/clickhouse")
export CONGCTL_KAFKA_CACHE CONGCTL_CLICKHOUSE_CACHE
mkdir -p bin
CGO_ENABLED=0 go test -c -trimpath -buildvcs=false -o bin/demo-fleet ./cmd/congctl
cd cmd/congctl
exec ../../bin/demo-fleet -test.run '^TestDemoFleet$' -test.timeout 10m
