#!/bin/sh
# Regenerates the Go code of proto/ into internal/loop/store/wire/congctlv1. Needs
# protoc (Debian: apt-get install protobuf-compiler); the Go plugin comes from go.mod.
set -eu
cd "$(dirname "$0")/.."
command -v protoc >/dev/null || { echo "protoc is not installed: apt-get install protobuf-compiler" >&2; exit 1; }
plugin=$(mktemp -d)
trap 'rm -rf "$plugin"' EXIT
go build -o "$plugin/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
PATH="$plugin:$PATH" protoc --proto_path=proto \
  --go_out=. --go_opt=module=github.com/congctl/congctl congctl/v1/record.proto
