#!/usr/bin/env bash
# kernel-source.sh unpacks the part of Debian's kernel source that `make olddefconfig`
# needs (40 MB of 1.5 GB, ten seconds), and the cloud kernel's configuration beside it, and
# prints the folder. As root on Debian it installs the source's package (139 MB).
#
#   kernel-source.sh [FOLDER]     default .cache/kernel-source
set -euo pipefail
cache=${1:+$(realpath -m "$1")}
cd "$(dirname "$0")/.."
cache=${cache:-$PWD/.cache/kernel-source}

tools/need.sh flex:flex bison:bison make:make gcc:gcc libc6-dev:/usr/include/stdio.h xz-utils:xz \
	linux-source-6.1:/usr/src/linux-source-6.1.tar.xz linux-config-6.1:/usr/src/linux-config-6.1 >&2
if [ ! -d "$cache" ]; then
	fresh=$(mktemp -d)
	trap 'rm -rf "$fresh"' EXIT
	tar -xf /usr/src/linux-source-6.1.tar.xz -C "$fresh" --strip-components=1 --wildcards \
		'*/Kconfig*' '*/Makefile*' '*/Kbuild*' 'linux-source-*/scripts/*' 'linux-source-*/arch/x86/*.sh' \
		'linux-source-*/arch/x86/configs/*' 'linux-source-*/kernel/configs/*'
	xz -dc /usr/src/linux-config-6.1/config.amd64_none_cloud-amd64.xz >"$fresh/distribution.config"
	chmod -R a+rX "$fresh"
	mkdir -p "$(dirname "$cache")"
	cp -r "$fresh" "$cache"
fi
echo "$cache"
