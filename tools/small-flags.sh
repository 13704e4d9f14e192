# shellcheck shell=bash disable=SC2034 # sourced
# What the small build (docs/install.md) has of go build: the tag, and no inlining but where a poll,
# a window, a handshake or the store takes its time. Inlining elsewhere is a megabyte of code; in SQLite
# it is what makes a commit four times faster.
small=(-tags small "-gcflags=all=-l -dwarf=false")
for package in runtime/... internal/... sync/... time sort slices maps cmp bytes math/... encoding/binary net/netip crypto/internal/fips140/{nistec/...,bigmod,edwards25519/...,mlkem,sha3,aes/...} modernc.org/... \
	github.com/congctl/congctl/internal/{tcp/...,linux/...,loop/ledger,loop/window,loop/kernel/cpu}; do
	small+=("-gcflags=$package=-dwarf=false")
done
# Functions begin at 16 bytes, as on arm64, and not at amd64's 32: 230 kB.
small_link=-funcalign=16
