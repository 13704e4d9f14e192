#!/usr/bin/env bash
# check.sh runs everything that must hold before a change lands: `make test` and
# .ci/run call it. A step that fails does not stop the others. Each step has the
# name of what it runs; the last line has the counts.
#
#   check.sh            all steps
#   check.sh STEP...    only these (names: see the list at the end)
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck disable=SC1091
. tools/check-steps.sh

export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-buildvcs=false
scratch=$(mktemp -d)
counts=$scratch/counts
log=$scratch/log
: >"$counts"
trap 'chmod -R u+w "$scratch" 2>/dev/null || true; rm -rf "$scratch"' EXIT
chmod 755 "$scratch"

# step NAME CMD... runs one step. A step that counts nothing itself is one check;
# one that fails without a failed count (a tool broke) counts as one failure.
step() {
	local name=$1 before=$SECONDS rows status
	shift
	rows=$(wc -l <"$counts")
	echo "=== $name"
	set +e # and not "|| status=...", which would switch -e off inside the step
	(
		set -e
		"$@"
	)
	status=$?
	set -e
	if [ $status -ne 0 ]; then
		new_rows "$rows" | awk -F'\t' '$3 > 0 { f = 1 } END { exit !f }' || count "$name" 0 1 0
	elif [ -z "$(new_rows "$rows")" ]; then
		count "$name" 1 0 0
	fi
	echo "--- $name: $([ $status -eq 0 ] && echo ok || echo FAILED) ($((SECONDS - before)) s)"
}
new_rows() { tail -n "+$(($1 + 1))" "$counts"; }
count() { printf '%s\t%d\t%d\t%d\n' "$@" >>"$counts"; }

# skip NAME WHY records a step that this machine cannot run.
skip() {
	echo "=== $1"
	echo "--- $1: skipped: $2"
	count "$1" 0 0 1
}

tools/need-go.sh
tools/need.sh gcc:gcc libc6-dev:/usr/include/stdio.h util-linux:setpriv iproute2:ip
go mod download

for s in ${*:-gofmt vet build cross narrow scripts race plain root lab debian kconfig generate fuzz bench}; do
	"step_$s"
done

echo
awk -F'\t' '
	{ printf "%-34s %6d passed %4d failed %4d skipped %4d flaky\n", $1, $2, $3, $4, $5; p += $2; f += $3; s += $4; k += $5 }
	END { printf "%d passed, %d failed, %d skipped, %d flaky\n", p, f, s, k; exit f > 0 }' "$counts"
