#!/usr/bin/env bash
# release.sh [OUT] makes what a release has, in OUT (dist): packages for Debian, RPM and Alpine, plain
# binaries, the small build (docs/install.md), bills of materials, SHA256SUMS. The same commit has the
# same bytes: every time in them is the commit's.
#
#   ARCHS      default: amd64 arm64 arm riscv64
#   FORMATS    default: deb rpm apk
#   SMALL=     no small builds
#   SIGN_KEY   file of an SSH key that signs SHA256SUMS, as SHA256SUMS.sig; default: no signature
#   VERSION    default: the tag, or 0.0.0~git and the commit's time and hash
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/small-flags.sh
out=$(realpath -m "${1:-dist}")
commit=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH CGO_ENABLED=0 GOOS=linux GOARM=7 GOFLAGS="-buildvcs=false -trimpath -vet=off -gcflags=all=-dwarf=false" TZ=UTC LC_ALL=C
version=${VERSION:-$(git describe --exact-match --match 'v[0-9]*' 2>/dev/null || date -d "@$SOURCE_DATE_EPOCH" "+0.0.0~git%Y%m%d.%H%M%S.${commit:0:7}")}
version=${version#v}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
mkdir -p "$out" "$stage/units" "$stage/doc"

binary() { # ARCH OUT ARGS..., with $link for the linker
	GOARCH=$1 go build -ldflags "-s -w ${link:-} -X main.version=$version -X main.commit=$commit" -o "$2" "${@:3}" ./cmd/congctl
}

# What is the same for all architectures.
here=$(go env GOHOSTARCH)
GOARCH=$here go build -C tools/nfpm -o "$work/nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm
GOARCH=$here go build -o "$work/sbom" ./tools/sbom
GOARCH=$here go test -ldflags "-X main.version=$version" -count=1 -run '^TestManPages$' ./cmd/congctl -ship "$stage" >/dev/null
gzip -n9 "$stage"/man/*.1
for unit in etc/*.service; do sed 's,/usr/local/bin/,/usr/bin/,; 1,/^\[Unit\]/{/^# systemd unit of congctl: put/,/^#$/d}' "$unit" >"$stage/units/${unit##*/}"; done
cp etc/congctl.yml "$stage/congctl.yml"
cp etc/ingest.yml README.md CHANGELOG.md SECURITY.md "$stage/doc/"
{ cat LICENSE; printf '\nThe eBPF programs of the congestion control cubic_lt, in this binary, are under GPL-2.0-only:\n\n'; cat bpf/LICENSE.GPL-2.0; } >"$stage/doc/copyright"
gzip -n9 "$stage/doc/CHANGELOG.md"

package() { # ARCH FORMAT
	local v=$version zsh=site-functions
	case $2 in
	deb) zsh=vendor-completions ;;
	apk) v=$(sed -E 's/~git([0-9]+)\..*/_git\1/' <<<"$v") ;; # only digits may follow _git
	esac
	# nfpm itself expands variables in some fields only.
	sed "s,\${ARCH},$1,; s,\${VERSION},$v,; s,\${STAGE},$stage,; s,\${ZSH},$zsh,; s,\${MTIME},$(date -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)," packaging/nfpm.yaml >"$work/nfpm.yaml"
	"$work/nfpm" package -f "$work/nfpm.yaml" -p "$2" -t "$out/"
}
for arch in ${ARCHS-amd64 arm64 arm riscv64}; do
	binary "$arch" "$stage/congctl"
	cp "$stage/congctl" "$out/congctl-linux-$arch"
	"$work/sbom" "$stage/congctl" "$version" web/package-lock.json >"$out/congctl-linux-$arch.cdx.json"
	chmod -R u=rwX,go=rX "$stage"
	find "$stage" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
	for format in ${FORMATS-deb rpm apk}; do package "${arch/%arm/arm7}" "$format"; done
	[ -z "${SMALL-yes}" ] || link=$small_link binary "$arch" "$out/congctl-small-linux-$arch" "${small[@]}"
done
(cd "$out" && find . -maxdepth 1 -type f ! -name 'SHA256SUMS*' -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS)
rm -f "$out/SHA256SUMS.sig"
[ -z "${SIGN_KEY:-}" ] || ssh-keygen -q -Y sign -n congctl-release -f "$SIGN_KEY" "$out/SHA256SUMS"
