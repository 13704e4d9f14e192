#!/usr/bin/env bash
# chdb.sh DIR unpacks a current ClickHouse engine below DIR, as a library of 560 MB (libchdb, for amd64 and glibc),
# builds DIR/chdb, which answers statements with it, and prints DIR: what CONGCTL_CHDB_CACHE should name.
# Debian has no current server, and none of the others can be had as a package.
set -euo pipefail
package=@chdb/lib-linux-x64-gnu version=26.5.3 # engine 26.5.1.1
sum=7cfacb991b79328a2bf721b3e266b36eb3637b8b7b5fd281da64c6917156471441b3688acbcca1ea3c75d71b1ad10af788314c53fc87a9df9b55d6095eedd069
source=$(cd "$(dirname "$0")" && pwd)/chdb.c
mkdir -p "$1"
dir=$(cd "$1" && pwd)
if [ ! -f "$dir/package/libchdb.so" ]; then
	[ "$(uname -m)" = x86_64 ] || { echo "chdb.sh: the library is for x86_64" >&2; exit 1; }
	command -v npm >/dev/null 2>&1 || { echo "chdb.sh: no npm, which fetches $package" >&2; exit 1; }
	file=$(cd "$dir" && npm pack --silent "$package@$version")
	echo "$sum  $dir/$file" | sha512sum --check --quiet >&2
	tar -C "$dir" -xzf "$dir/$file" package/libchdb.so
	rm "$dir/$file"
fi
if [ "$source" -nt "$dir/chdb" ]; then ${CC:-cc} -O1 -Wall -o "$dir/chdb" "$source" -ldl; fi
echo "$dir"
