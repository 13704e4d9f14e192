#!/usr/bin/env bash
# struct-ops-kernel.sh DIR unpacks a kernel that lets a struct_ops program be a congestion control (Linux 6.4 and later; here
# Debian's 6.12) into DIR with an index of its modules, and prints DIR: what CONGCTL_STRUCT_OPS_KERNEL should name.
set -euo pipefail
dir=$1
mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
flock -w 900 9 || { echo "struct-ops-kernel.sh: another process has held $dir.lock for 900 s: end it" >&2; exit 1; }
if ! ls "$dir"/boot/vmlinuz-6.* "$dir"/lib/modules/*/modules.dep >/dev/null 2>&1; then
	export PATH=$PATH:/usr/sbin:/sbin
	tools=$(cd "$(dirname "$0")" && pwd)
	"$tools/need.sh" kmod:depmod
	package=$(apt-cache search --names-only '^linux-image-6\.12\..*-cloud-amd64$' | awk '{ print $1 }' | sort -V | tail -n 1)
	[ -n "$package" ] || { echo "struct-ops-kernel.sh: apt knows no linux-image-6.12: run apt-get update" >&2; exit 1; }
	rm -rf "$dir" "$dir.new"
	mkdir -p "$dir.new"
	(cd "$dir.new" && "$tools/apt.sh" -o APT::Sandbox::User="$(id -un)" download -qq "$package" && dpkg-deb -x ./*.deb . && rm ./*.deb &&
		depmod -b . "$(basename lib/modules/*)") >&2 # a guest would take half a minute
	mv "$dir.new" "$dir"
fi
ls "$dir"/boot/vmlinuz-6.* >/dev/null || { echo "struct-ops-kernel.sh: $dir/boot has no kernel" >&2; exit 1; }
echo "$dir"
