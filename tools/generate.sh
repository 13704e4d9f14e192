#!/usr/bin/env bash
# generate.sh makes the committed generated files anew: eBPF objects and protobuf
# code. Needs clang, llvm-strip, libbpf's headers and protoc (make generate).
set -euo pipefail
cd "$(dirname "$0")/.."
go generate ./...
[ ! -x proto/generate.sh ] || proto/generate.sh
