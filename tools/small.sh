#!/usr/bin/env bash
# small.sh builds the small binary (docs/install.md) and fails if it lacks another verb than it
# should, or is above its bound. It prints its size for each architecture in ARCHS.
#
#   ARCHS    default: amd64 arm64
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0 GOARM=7
bound=20000000 # bytes, of each architecture
. tools/small-flags.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

build() { # OUT ARGS...
	go build -trimpath -buildvcs=false -ldflags "-s -w $small_link" -o "$@" ./cmd/congctl
}
verbs() { "$1" help 2>&1 | awk '/^Flags:/ { exit } /^  [a-z]+ +[A-Z]/ { print $1 }' | sort; }

# Only what is built: the tests are of the full binary.
# shellcheck disable=SC2046 # a list of files
go vet -tags small $(go list -tags small -f '{{range .GoFiles}}{{$.Dir}}/{{.}} {{end}}' ./cmd/congctl)
make -s build
build "$dir/small" "${small[@]}"
lacks=$(comm -23 <(verbs bin/congctl) <(verbs "$dir/small") | tr '\n' ' ')
want="controller ingest lab simulate store token top "
[ "$lacks" = "$want" ] || { echo "small.sh: the small build lacks '$lacks', want '$want'" >&2; exit 1; }
for arch in ${ARCHS:-amd64 arm64}; do
	GOARCH=$arch build "$dir/$arch" "${small[@]}"
	bytes=$(stat -c %s "$dir/$arch")
	echo "small build: linux/$arch $bytes bytes"
	[ "$bytes" -le $bound ] || { echo "small.sh: above $bound" >&2; exit 1; }
done
