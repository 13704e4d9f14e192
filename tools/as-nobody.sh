#!/usr/bin/env bash
# as-nobody.sh DIR CMD... runs CMD in this tree as user 65534 without any
# capability: the proof that the plain tests need no root. DIR holds a home.
#
# A clone often lies where nobody may not look (a home of mode 0700), and so do the
# module cache and the build cache (.cache/nobody, kept for the next run; it begins with
# what root has built, in links, and nothing goes back); all are bind-mounted into DIR in
# a mount namespace of their own. Where mounts are refused, clone and modules are copied
# and the build cache is DIR's.
set -euo pipefail

dir=$1
shift
uid=65534
mod=$(go env GOMODCACHE)
goroot=$(go env GOROOT)
cache=$PWD/.cache/nobody
if [ ! -d "$cache" ] && mkdir -p "$cache"; then
	cp -al "$(go env GOCACHE)/." "$cache" 2>/dev/null || true # another file system: build again
	find "$cache" -type d -exec chown "$uid:$uid" {} +
fi
mkdir -p "$dir"/{src,mod,home,cache,tmp}
chmod 755 "$dir"
chown "$uid:$uid" "$dir"/{home,cache,tmp}

# With -trimpath the build cache fits the next run too, whose DIR is another.
# shellcheck disable=SC2016 # expanded by the inner shell
bind='mount --bind "$1" "$4/src" && mount --bind "$2" "$4/mod" && mount --bind "$3" "$4/cache"'
inner='cd "$0/src" && exec setpriv --reuid='$uid' --regid='$uid' --clear-groups --inh-caps=-all "$@"'
run=(env -i "PATH=$goroot/bin:/usr/sbin:/usr/bin:/sbin:/bin" "HOME=$dir/home" "TMPDIR=$dir/tmp"
	"GOCACHE=$dir/cache" "GOMODCACHE=$dir/mod" GOPROXY=off "GOFLAGS=${GOFLAGS:--buildvcs=false -trimpath}" GOTOOLCHAIN=local
	"CGO_ENABLED=${CGO_ENABLED:-0}" "$@")

# shellcheck disable=SC2016
if unshare --mount true 2>/dev/null; then
	exec unshare --mount --propagation private bash -c \
		"$bind"' && dir=$4 && shift 4 && exec bash -c '"'$inner'"' "$dir" "$@"' as-nobody "$PWD" "$mod" "$cache" "$dir" "${run[@]}"
fi
tar --exclude=./.git --exclude=./.cache --exclude=node_modules -cf - . | tar -C "$dir/src" -xf -
[ -e "$dir/mod/cache" ] || cp -a "$mod/." "$dir/mod/"
exec bash -c "$inner" "$dir" "${run[@]}"
