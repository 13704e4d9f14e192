#!/usr/bin/env bash
# need-go.sh checks that the Go on PATH is new enough for go.mod. Debian's own is
# too old, so there is nothing that apt could install.
set -euo pipefail

want=$(awk '$1 == "go" { print $2 }' go.mod)
have=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null) || have=none
have=${have#go}
if [ "$have" = none ] || [ "$(printf '%s\n%s\n' "$want" "${have%%[-+ ]*}" | sort -V | head -n 1)" != "$want" ]; then
	echo "missing: Go $want or newer on PATH (found: $have)" >&2
	echo "  install it from https://go.dev/dl/ into /usr/local/go and add /usr/local/go/bin to PATH" >&2
	exit 1
fi
