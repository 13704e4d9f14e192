#!/usr/bin/env bash
# need.sh PKG:CMD... makes sure that each CMD is there, where PKG is the Debian
# package that has it. CMD with a leading / is a file that must exist. As root on
# Debian it installs what is missing; elsewhere it says exactly what to install.
set -euo pipefail

has() {
	case $1 in
	/*) [ -e "$1" ] ;;
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}

missing=() packages=()
for need in "$@"; do
	if ! has "${need#*:}"; then
		missing+=("${need#*:}")
		packages+=("${need%%:*}")
	fi
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "need: installing ${packages[*]} (for ${missing[*]})" >&2
	export DEBIAN_FRONTEND=noninteractive
	"$(dirname "$0")"/apt.sh update -qq >&2
	"$(dirname "$0")"/apt.sh install -y -qq --no-install-recommends "${packages[@]}" >&2
	exit 0
fi
echo "missing: ${missing[*]}" >&2
echo "  on Debian: sudo apt-get install ${packages[*]}" >&2
exit 1
