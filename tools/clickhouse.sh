#!/usr/bin/env bash
# clickhouse.sh DIR unpacks Debian's clickhouse-server below DIR, with the libraries that this host
# lacks, makes DIR/clickhouse-server, which starts it, and prints DIR: what
# CONGCTL_CLICKHOUSE_CACHE should name.
# Unpacked and not installed: installing it would start a server on port 9000.
set -euo pipefail
apt=$(cd "$(dirname "$0")" && pwd)/apt.sh
mkdir -p "$1"
dir=$(cd "$1" && pwd)
exec 9>"$dir/lock"
flock -w 900 9 || { echo "clickhouse.sh: another process has held $dir/lock for 900 s: end it" >&2; exit 1; }
if [ ! -x "$dir/clickhouse-server" ]; then
	command -v apt-get >/dev/null 2>&1 || { echo "clickhouse.sh: no apt-get: make $dir/clickhouse-server start yours" >&2; exit 1; }
	"$apt" update -qq >&2
	# What an installation would fetch.
	"$apt" install --simulate --no-install-recommends clickhouse-server |
		awk '$1 == "Inst" && $2 != "adduser" { print $2 }' >"$dir/packages"
	(cd "$dir" && xargs "$apt" -o APT::Sandbox::User=root download -qq <packages >&2)
	for deb in "$dir"/*.deb; do dpkg-deb -x "$deb" "$dir"; done
	rm "$dir"/*.deb
	cat >"$dir/clickhouse-server" <<-'START'
		#!/bin/sh
		dir=$(dirname "$0")
		LD_LIBRARY_PATH=$(echo "$dir"/usr/lib/*-linux-gnu):$(echo "$dir"/lib/*-linux-gnu) exec "$dir/usr/sbin/clickhouse-server" "$@"
	START
	chmod +x "$dir/clickhouse-server"
fi
# An option that no version knows makes it answer and end.
{ "$dir/clickhouse-server" --no-such-option 2>&1 || true; } | grep -q no-such-option || { echo "clickhouse.sh: $dir/clickhouse-server lacks a library: make it start yours" >&2; exit 1; }
echo "$dir"
