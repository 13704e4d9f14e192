#!/usr/bin/env bash
# haproxy.sh DIR unpacks Debian's haproxy below DIR, with the libraries that only it uses, and prints the folder of a script
# that runs it. Unpacked and not installed: installing it would start a server.
set -euo pipefail
apt=$(cd "$(dirname "$0")" && pwd)/apt.sh
dir=$(mkdir -p "$1" && cd "$1" && pwd)
program=$dir/bin/haproxy
if [ ! -x "$program" ]; then
	command -v apt-get >/dev/null 2>&1 || { echo "haproxy.sh: no apt-get: install haproxy yourself" >&2; exit 1; }
	"$apt" update -qq >&2
	(cd "$dir" && "$apt" -o APT::Sandbox::User=root download -qq haproxy liblua5.3-0 libopentracing-c-wrapper0 libopentracing1 >&2)
	for deb in "$dir"/*.deb; do dpkg-deb -x "$deb" "$dir"; done
	mkdir -p "$dir/bin"
	printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$(find "$dir/usr/lib" -name liblua5.3.so.0 -printf %h)" "$dir/usr/sbin/haproxy" >"$program"
	chmod +x "$program"
fi
[[ $("$program" -v 2>&1) == "HAProxy version"* ]] || { echo "haproxy.sh: $program lacks a library; install haproxy yourself" >&2; exit 1; }
dirname "$program"
