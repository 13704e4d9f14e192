#!/usr/bin/env bash
# nginx.sh DIR unpacks Debian's nginx below DIR and prints the folder of the program.
# Unpacked and not installed: installing it would start a server on port 80.
set -euo pipefail
apt=$(cd "$(dirname "$0")" && pwd)/apt.sh
dir=$1
program=$dir/usr/sbin/nginx
if [ ! -x "$program" ]; then
	command -v apt-get >/dev/null 2>&1 || { echo "nginx.sh: no apt-get: install nginx yourself" >&2; exit 1; }
	mkdir -p "$dir"
	"$apt" update -qq >&2
	(cd "$dir" && "$apt" -o APT::Sandbox::User=root download -qq nginx >&2)
	dpkg-deb -x "$dir"/nginx_*.deb "$dir"
fi
"$program" -v 2>&1 | grep -q '^nginx version' || { echo "nginx.sh: $program lacks a library; install nginx yourself" >&2; exit 1; }
dirname "$program"
