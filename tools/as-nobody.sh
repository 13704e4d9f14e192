#!/usr/bin/env bash
# as-nobody.sh DIR CMD... runs CMD in this tree as user 65534 without any
# capability: the proof that the plain tests need no root. DIR holds the Go build
# cache and a home, and may be used again.
#
# A clone often lies where nobody may not look (a home of mode 0700), and so does
# the module cache; both are bind-mounted into DIR in a mount namespace of their
# own, or copied where mounts are refused.
set -euo pipefail

dir=$1
shift
uid=65534
mod=$(go env GOMODCACHE)
goroot=$(go env GOROOT)
mkdir -p "$dir"/{src,mod,home,cache,tmp}
chmod 755 "$dir"
chown "$uid:$uid" "$dir"/{home,cache,tmp}

# shellcheck disable=SC2016 # expanded by the inner shell
bind='mount --bind "$1" "$3/src" && mount --bind "$2" "$3/mod"'
inner='cd "$0/src" && exec setpriv --reuid='$uid' --regid='$uid' --clear-groups --inh-caps=-all "$@"'
run=(env -i "PATH=$goroot/bin:/usr/sbin:/usr/bin:/sbin:/bin" "HOME=$dir/home" "TMPDIR=$dir/tmp"
	"GOCACHE=$dir/cache" "GOMODCACHE=$dir/mod" GOPROXY=off GOFLAGS=-buildvcs=false GOTOOLCHAIN=local
	"CGO_ENABLED=${CGO_ENABLED:-0}" "$@")

# shellcheck disable=SC2016
if unshare --mount true 2>/dev/null; then
	exec unshare --mount --propagation private bash -c \
		"$bind"' && dir=$3 && shift 3 && exec bash -c '"'$inner'"' "$dir" "$@"' as-nobody "$PWD" "$mod" "$dir" "${run[@]}"
fi
tar --exclude=./.git --exclude=./.cache -cf - . | tar -C "$dir/src" -xf -
[ -e "$dir/mod/cache" ] || cp -a "$mod/." "$dir/mod/"
exec bash -c "$inner" "$dir" "${run[@]}"
