#!/usr/bin/env bash
# check.sh runs what must hold before a change lands: `make test`, `make check` and
# .ci/run call it. A step that fails does not stop the others. Each step has the
# name of what it runs; the last line has the counts.
#
#   check.sh            all steps but fuzz, which `make fuzz` runs; as root, the tests without root on a fresh Debian
#   check.sh test       what `make test` runs
#   check.sh quick      its quick part: no race detector, no root
#   check.sh STEP...    only these (names: see the lists below)
set -euo pipefail
# A relative path in the environment is relative to where the command was typed.
for name in CONGCTL_LAB_CACHE CONGCTL_DEBIAN_CACHE; do
	[ -z "${!name:-}" ] || export "$name=$(realpath -m "${!name}")"
done
cd "$(dirname "$0")/.."
# shellcheck disable=SC1091
. tools/check-steps.sh

# The step "go vet" sees all packages; go test need not see each of them again. A compiler that collects garbage at
# four times its heap takes a seventh less CPU, and 370 MB in place of 300. What only debuggers read is a sixth of the time
# to compile and two fifths of that to link a test; make build, release.sh and vm.sh compile with the same flags, so once.
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS="-buildvcs=false -trimpath -vet=off -gcflags=all=-dwarf=false -ldflags=-s '-toolexec=env GOGC=400'"
scratch=$(mktemp -d)
counts=$scratch/counts
log=$scratch/log # of what runs beside the lab, or alone
touch "$counts"
trap 'chmod -R u+w "$scratch" 2>/dev/null || true; rm -rf "$scratch"' EXIT
chmod 755 "$scratch"

# step NAME CMD... runs one step. A step that counts nothing itself is one check;
# one that fails without a failed count (a tool broke) counts as one failure.
step() {
	local name=$1 before=$SECONDS rows status cpu=$scratch/cpu.$BASHPID
	shift
	rows=$(wc -l <"$counts")
	echo "=== $name"
	set +e # and not "|| status=...", which would switch -e off inside the step
	(
		trap 'times >"$cpu"' EXIT # of the step's processes
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
	echo "--- $name: $([ $status -eq 0 ] && echo ok || echo FAILED) ($((SECONDS - before)) s, $(cpu_seconds <"$cpu") s of CPU)"
}
cpu_seconds() { awk 'NR == 2 { gsub("s", ""); for (i = 1; i <= NF; i++) { split($i, t, "m"); n += 60 * t[1] + t[2] } printf "%.0f", n }'; }
new_rows() { tail -n "+$(($1 + 1))" "$counts"; }
count() { printf '%s\t%d\t%d\t%d\n' "$@" >>"$counts"; }

# skip NAME WHY records a step that this machine cannot run.
skip() {
	echo "=== $1"
	echo "--- $1: skipped: $2"
	count "$1" 0 0 1
}

tools/need-go.sh
tools/need.sh gcc:gcc libc6-dev:/usr/include/stdio.h util-linux:setpriv iproute2:ip tmux:tmux
go mod download

steps() {
	local s
	for s in "$@"; do "step_$s"; done
}
# beside NAME NICE STEP... starts a lane: steps one after the other, with a file of output and one of counts of their own.
# Two lanes that compute, one of them on one processor, and one that waits: with more, two cores do the same work in a third
# more of their time. What computes is nice: what waits for real windows, and for each other's answers, takes the CPU when it wants it.
declare -A lanes=()
beside() {
	local name=$1 nice=$2
	shift 2
	: >"$scratch/$name.counts"
	echo "=== beside others, shown when all have ended: $*"
	(
		[ "$nice" -eq 0 ] || renice -n "$nice" "$BASHPID" >/dev/null # an ordinary user that is nice cannot set 0
		counts=$scratch/$name.counts
		steps "$@"
	) >"$scratch/$name" 2>&1 &
	lanes[$name]=$!
}
# ended waits for all lanes and shows each.
ended() {
	local name
	for name in "${!lanes[@]}"; do
		wait "${lanes[$name]}" || count "steps beside others: $name" 0 1 0
		cat "$scratch/$name"
		cat "$scratch/$name.counts" >>"$counts"
	done
	lanes=()
}
# Lanes: what waits; what computes in the lab, after it has a kernel; all else that computes. No step waits for another lane's.
waits=(fleet chaos bench browser)
days=(kernel machines runs day)
# A Debian in emulation computes while it waits, too, so it is cheaper the sooner it ends: half, before others.
computes=(debian nicer metrics lab small web release cross narrow kconfig generate)
step_nicer() { renice -n 10 "$BASHPID" >/dev/null; }
for s in ${*:-all}; do
	case $s in
	quick) steps gofmt vet build scripts short ;;
	test)
		steps gofmt vet build scripts
		beside waits 0 root
		steps noroot
		ended
		;;
	all)
		steps gofmt vet build scripts
		rootless=noroot
		! fresh_here || rootless=fresh # each test runs once: on a newcomer's machine, which finds more
		beside waits 0 root "${waits[@]}"
		beside days 7 $rootless "${days[@]}"
		beside computes 3 "${computes[@]}"
		ended
		;;
	*) steps "$s" ;;
	esac
done

echo
awk -F'\t' '
	{ printf "%-34s %6d passed %4d failed %4d skipped %4d flaky\n", $1, $2, $3, $4, $5; p += $2; f += $3; s += $4; k += $5 }
	$3 > 0 { bad = bad sprintf("failed: %s: %s\n", $1, $6) }
	END { printf "%s", bad; printf "%d passed, %d failed, %d skipped, %d flaky\n", p, f, s, k; exit f > 0 }' "$counts"
