#!/usr/bin/env bash
# count-tests.sh counts what is in the test files: tests, fuzz targets, benchmarks
# and the lines of golden files, by capability. It runs nothing: what passed and what
# was skipped for want of root is in the last lines of `make test`.
#
#   count-tests.sh           prints a Markdown table
#   count-tests.sh --write   puts it between the marks in docs/how-tested.md
set -euo pipefail
cd "$(dirname "$0")/.."

page=docs/how-tested.md
from='<!-- counts: tools/count-tests.sh -->' to='<!-- end of counts -->'

functions() { # functions KIND FILE...: declarations of that kind
	local kind=$1
	shift
	cat "$@" | grep -cE "^func $kind[A-Z]" || true
}

table() {
	echo '| folder | tests | fuzz targets | benchmarks | golden lines |'
	echo '|---|---|---|---|---|'
	local folder files golden total=(0 0 0 0) row i
	for folder in cmd internal/*/ tools; do
		folder=${folder%/}
		mapfile -t files < <(find "$folder" -name '*_test.go' | sort)
		[ ${#files[@]} -gt 0 ] || continue
		golden=$(find "$folder" -path '*/testdata/*' -type f ! -name '*.bin' ! -path '*/rapid/*' ! -path '*/fuzz/*' -exec cat {} + | wc -l)
		row=("$(($(functions Test "${files[@]}") - $(functions TestMain "${files[@]}")))"
			"$(functions Fuzz "${files[@]}")" "$(functions Benchmark "${files[@]}")" "$golden")
		printf '| `%s` |' "$folder"
		printf ' %d |' "${row[@]}"
		echo
		for i in "${!row[@]}"; do total[i]=$((total[i] + row[i])); done
	done
	printf '| **all** |'
	printf ' **%d** |' "${total[@]}"
	echo
}

if [ "${1:-}" != --write ]; then
	table
	exit
fi
grep -qF "$from" $page && grep -qF "$to" $page || { echo "count-tests.sh: $page lacks its marks" >&2; exit 1; }
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
{
	awk -v mark="$from" '{ print } $0 == mark { exit }' $page
	printf '\n%s\n\n' "$(table)"
	awk -v mark="$to" '$0 == mark { on = 1 } on' $page
} >"$fresh"
cat "$fresh" >$page
