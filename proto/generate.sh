#!/bin/sh
# Regenerates the Go code of proto/ into internal/loop/store/wire/congctlv1 and
# internal/fleet/store/link/fleetv1. Needs protoc (Debian: apt-get install
# protobuf-compiler); the Go plugins come from go.mod.
set -eu
cd "$(dirname "$0")/.."
command -v protoc >/dev/null || { echo "protoc is not installed: apt-get install protobuf-compiler" >&2; exit 1; }
plugin=$(mktemp -d)
trap 'rm -rf "$plugin"' EXIT
go build -o "$plugin/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
go build -o "$plugin/protoc-gen-connect-go" connectrpc.com/connect/cmd/protoc-gen-connect-go
PATH="$plugin:$PATH" protoc --proto_path=proto \
  --go_out=. --go_opt=module=github.com/congctl/congctl \
  --connect-go_out=. --connect-go_opt=module=github.com/congctl/congctl,simple,package_suffix= \
  congctl/v1/record.proto congctl/v1/fleet.proto
