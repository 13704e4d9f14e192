#!/usr/bin/env bash
# prometheus.sh DIR unpacks Debian's prometheus and promtool below DIR and prints DIR: what
# CONGCTL_PROMETHEUS_CACHE should name.
# Unpacked and not installed: installing it would start a server on port 9090.
set -euo pipefail
apt=$(cd "$(dirname "$0")" && pwd)/apt.sh
mkdir -p "$1"
dir=$(cd "$1" && pwd)
if [ ! -x "$dir/usr/bin/promtool" ]; then
	command -v apt-get >/dev/null 2>&1 || { echo "prometheus.sh: no apt-get: put prometheus and promtool into $dir/usr/bin" >&2; exit 1; }
	"$apt" update -qq >&2
	(cd "$dir" && "$apt" -o APT::Sandbox::User=root download -qq prometheus >&2)
	for deb in "$dir"/*.deb; do dpkg-deb -x "$deb" "$dir"; done
	rm "$dir"/*.deb
fi
"$dir/usr/bin/promtool" --version >/dev/null 2>&1 || { echo "prometheus.sh: $dir/usr/bin/promtool does not start" >&2; exit 1; }
echo "$dir"
