# shellcheck shell=bash disable=SC2154 # counts, scratch and log are check.sh's
# The steps of check.sh. Sourced, never run by itself.

# A number of inputs and not a time: go test may end a timed run with "context
# deadline exceeded" though nothing failed, when the machine is slow at that moment.
fuzz_time=${FUZZ_TIME:-20000x}
clang_major=14 # the objects in the tree are made by Debian 12's clang; another one gives other bytes

gotest() { # gotest TIER ARGS... runs "go test" and counts
	local tier=$1
	shift
	go test -json "$@" | go run ./tools/testsum -tier "$tier" -counts "$counts"
}

# ---- what needs no test

no_gofmt_output() {
	local bad
	bad=$(gofmt -l .)
	[ -z "$bad" ] || { echo "not formatted (make fmt): $bad"; return 1; }
}
step_gofmt() { step "gofmt -l" no_gofmt_output; }
step_vet() { step "go vet" go vet ./...; }

static_build() {
	make -s build
	go version -m bin/congctl | grep -q 'CGO_ENABLED=0' || { echo "bin/congctl is not built without cgo"; return 1; }
}
step_build() {
	if [ -d cmd/congctl ]; then step "build static $(go env GOARCH)" static_build; else step "build all packages" go build ./...; fi
}

step_release() {
	local name="release: same bytes, nothing runs"
	if tools/need.sh openssh-client:ssh-keygen; then step "$name" tools/release-test.sh; else skip "$name" "ssh-keygen is missing (above)"; fi
}
step_small() { step "build small" tools/small.sh; }

# arm64, on which servers run, is compiled whole: most of it by the small build. For the others the small build is compiled, without
# optimisations, which take a third of the time, and what debuggers want: it runs nowhere here. The rest is checked but for its code.
cross_build() {
	if [ "$1" = arm64 ]; then
		GOARCH=$1 go build "${small[@]:2}" ./...
	else
		GOARCH=$1 GOARM=7 go build -tags small -gcflags='all=-N -l -dwarf=false' -o "$scratch/small-$1" ./cmd/congctl
		go run ./tools/typecheck "$1" ./...
	fi
}
step_cross() {
	local arch small
	# shellcheck disable=SC1091
	. tools/small-flags.sh
	for arch in arm64 arm riscv64; do step "build linux/$arch" cross_build "$arch"; done
}

# The packages of the small build without a kernel, on 32 bits, as on the small devices: the
# kernel of amd64 runs 386, and none that we have runs arm. Not again, half of the time: simulations that compute with
# float64 alone, which is the same there.
simulated='(TestOutlive(HoldOut)?|TestBrakeOf(NoEffect|Harm|All)|TestTwoOutcomesKeepTheirWord|TestLoadMovesWithLevel|TestCap(KeepsThroughput|IsLifted)|TestDrawingBlocksIsWrong|TestNoEffect|TestAAStaysSilent|TestFaded)'
test_narrow() {
	local packages
	packages=$(go list -deps -tags small ./cmd/congctl | grep '/internal/' | grep "^$(go list -m)/" | grep -vE '/(linux|kernel)/')
	# shellcheck disable=SC2086 # a list of packages
	CGO_ENABLED=0 unprivileged env GOARCH=386 GOGC=400 go test -json -short -skip "^$simulated\$" $packages |
		go run ./tools/testsum -tier "32 bits" -counts "$counts"
}
step_narrow() {
	if GOARCH=386 CGO_ENABLED=0 go test -run '^$' ./internal/tcp/abi >"$log" 2>&1; then
		step "go test on 32 bits" test_narrow
	else
		skip "go test on 32 bits" "this kernel runs no program of linux/386 (CONFIG_IA32_EMULATION, any kernel of amd64): $(tail -n 1 "$log")"
	fi
}

bash_parses() {
	local f
	for f in .ci/run tools/*.sh; do bash -n "$f"; done
	! command -v shellcheck >/dev/null || shellcheck -x .ci/run tools/*.sh
}
step_scripts() { step "bash -n" bash_parses; }

# What is committed of the dashboard is what its sources give.
same_web() {
	tools/web.sh "$scratch/web"
	diff -r "$scratch/web" internal/web/dist || { echo "internal/web/dist is not what make web builds"; return 1; }
}
step_web() {
	local name="the dashboard's page: same bytes"
	if tools/need-node.sh; then step "$name" same_web; else skip "$name" "Node is missing (above)"; fi
}

# The dashboard in Debian's Chromium: a pretended PoP and, as root, a running congctl up.
test_browser() {
	tools/web-modules.sh
	CONGCTL_BROWSER=1 gotest browser -count=1 -run '^TestBrowser' ./cmd/congctl
}
step_browser() {
	local name="dashboard in a browser"
	if tools/need-node.sh && tools/need.sh chromium:chromium; then step "$name" test_browser; else skip "$name" "Node or Chromium is missing (above)"; fi
}

# ---- tests that need no root

# unprivileged CMD... as nobody when we are root, as ourselves otherwise.
unprivileged() {
	if [ "$(id -u)" -eq 0 ]; then tools/as-nobody.sh "$scratch/nobody" "$@"; else "$@"; fi
}
# A race takes two goroutines: the race detector, which makes what computes ten times slower,
# is for the packages whose code or tests start one.
starts_goroutine='^[[:space:]]*go (func\>|[A-Za-z_.]+\()|\.(Go|Parallel|Serve|AfterFunc)\(|httptest\.'
concurrent_packages() {
	local dir pkg
	go list -f '{{.Dir}} {{.ImportPath}}' ./... | while read -r dir pkg; do
		! grep -qE "$starts_goroutine" "$dir"/*.go || echo "$pkg"
	done
}
# Not for SQLite and its libc, C turned into Go: watching them doubles the time of the store's tests.
# The driver is watched, and what synchronises is in package sync, whoever calls it.
not_watched=("-gcflags=modernc.org/"{sqlite/lib,libc/...}"=-race=false -dwarf=false")
# Not optimised: what its tests hardly run takes a third of the time to compile.
not_watched+=("-gcflags=github.com/"{twmb,ClickHouse,vishvananda,andybalholm,charmbracelet,cilium}"/...=-N -l -dwarf=false")
# These compute for a minute under it, in one goroutine of a package that has others, or measure.
not_raced='(TestKilledAtAnyStepIsAsNeverKilled|TestPromotedThroughOtherGroups|TestEveryDoor[A-Za-z]*|TestCostOf[A-Za-z]*|TestLabPopReport)'
# packages_with REGEXP PACKAGE... prints those that have such a test.
packages_with() {
	local regexp=$1
	shift
	go list -f '{{.Dir}} {{.ImportPath}}' "$@" | while read -r dir pkg; do
		! grep -qE "^func $regexp\(" "$dir"/*_test.go 2>/dev/null || echo "$pkg"
	done
}
# Each test runs once, with the race detector or without. What only computes collects its garbage less often: an eighth of its time.
# testsum has the last word.
test_noroot() {
	local concurrent others
	concurrent=$(concurrent_packages)
	others=$(go list ./... | grep -vxF "$concurrent")
	{
		# shellcheck disable=SC2086 # lists of packages
		unprivileged env GOGC=400 go test -json -shuffle=on $others || true
		# shellcheck disable=SC2046,SC2086
		unprivileged go test -json -run "^$not_raced\$" $(packages_with "$not_raced" $concurrent) || true
		# shellcheck disable=SC2086
		CGO_ENABLED=1 unprivileged go test -json -race "${not_watched[@]}" -shuffle=on -skip "^$not_raced\$" $concurrent || true
	} | go run ./tools/testsum -tier "no root" -counts "$counts"
}
step_short() { step "go test -short" gotest short -short ./...; }
step_noroot() { step "go test without root, -race where goroutines are" test_noroot; }

# ---- tests that need root

# Tests that need root, and those that need a server which step_root brings, are in files *_root_test.go
# (internal/arch fails where another one skips without root): all others have run without it.
root_packages() { find cmd internal -name '*_root_test.go' | xargs -r -n 1 dirname | sort -u | sed 's,^,./,'; }
# root_tests FOLDER prints an expression of those below it, for -run.
root_tests() {
	find "$1" -name '*_root_test.go' -exec sed -nE 's/^func (Test\w+)\(.*/\1/p' {} + | paste -sd '|' | sed 's/.*/^(&)$/'
}
# One package at a time beside cmd/congctl, which mostly waits for windows: they share this
# host's CPUs and its cgroup root. Up to three tests that failed get a second look, alone
# (docs/how-tested.md says why): testsum has the last word on what go test calls failed. cmd/congctl takes nine of the ten
# minutes after which go test ends a package by itself.
test_root() {
	{
		root_packages | grep -v cmd/congctl | xargs go test -json -count=1 -p 1 -run "$(root_tests internal)" >"$scratch/packages" || true &
		go test -json -timeout 20m -count=1 -run "$(root_tests cmd/congctl)" ./cmd/congctl || true
		wait $!
		cat "$scratch/packages"
	} | go run ./tools/testsum -tier "root" -again 3 -counts "$counts"
}
step_root() {
	if [ "$(id -u)" -ne 0 ]; then
		skip "root tests" "not root: run 'sudo make test-root'"
	elif [ -z "$(root_packages)" ]; then
		skip "root tests" "none in the tree"
	else
		local nginx haproxy
		if ! command -v nginx >/dev/null 2>&1; then
			if nginx=$(tools/nginx.sh "$PWD/.cache/nginx"); then
				PATH=$PATH:$nginx
			else
				skip "goodput of nginx" "nginx is missing (above)"
			fi
		fi
		if ! command -v haproxy >/dev/null 2>&1; then
			if haproxy=$(tools/haproxy.sh "$PWD/.cache/haproxy"); then
				PATH=$PATH:$haproxy
			else
				skip "a plan's map in haproxy" "haproxy is missing (above)"
			fi
		fi
		step "root tests" test_root
	fi
}

# ---- chaos

test_chaos() {
	CONGCTL_CHAOS=${CONGCTL_CHAOS:-5m} CONGCTL_CHAOS_SEED=${CONGCTL_CHAOS_SEED:-1} gotest chaos -count=1 -timeout 2h -run '^TestChaos$' ./cmd/congctl
}
step_chaos() {
	local name="chaos under a running congctl"
	if [ "$(id -u)" -ne 0 ]; then
		skip "$name" "not root: run 'sudo tools/check.sh chaos'"
	else
		step "$name" test_chaos
	fi
}

# ---- the lab

# struct_ops_kernel names one; without it a test skips.
struct_ops_kernel() {
	CONGCTL_STRUCT_OPS_KERNEL=$(tools/struct-ops-kernel.sh "$PWD/.cache/struct-ops-kernel" || true)
	export CONGCTL_STRUCT_OPS_KERNEL
}
lab_kernels() {
	export CONGCTL_LAB_CACHE=${CONGCTL_LAB_CACHE:-$PWD/.cache/lab}
	mkdir -p "$CONGCTL_LAB_CACHE"
	struct_ops_kernel
}
# Boots stock kernels in QEMU, virtual time, no root; draws the report in a browser.
test_lab() {
	lab_kernels
	gotest "lab: $1" -count=1 -p 1 -timeout 40m -run "$2" "${@:3}"
}
# The kernel of --world uml, in which the days run; without it they run in QEMU.
build_program() {
	go run ./cmd/congctl lab kernel build --cache "${CONGCTL_LAB_CACHE:-$PWD/.cache/lab}"
}
step_kernel() {
	local name="lab: a kernel that is a program"
	if tools/need.sh gcc:gcc libc6-dev:/usr/include/stdio.h make:make flex:flex bison:bison bc:bc patch:patch xz-utils:xz dwarves:pahole python3:python3 libelf-dev:/usr/include/libelf.h; then
		step "$name" build_program
	else
		skip "$name" "compilers are missing (above), for Linux 6.12"
	fi
}
made_up='^Test(Stuck|StraightBackCut|CutAnywhere|TwoCuts|LastLineOfAKilledOne|NewestEndsFirst)$'
# Limits on a kernel that has all kinds of qdiscs and filters; their rates, too, by a clock
# that stands still while the guest has no CPU. Not what is cut at each point of a made-up host, which no kernel changes.
test_limits() {
	local kernel
	kernel=$(find "${CONGCTL_LAB_CACHE:-$PWD/.cache/lab}" -maxdepth 1 -type d -name 'linux-image-*' 2>/dev/null | sort -V | tail -n 1)
	KERNEL=$kernel VIRTUAL=1 SHORT='' SKIP="$made_up" MINUTES=40 COUNTS=$counts tools/vm.sh internal/{shape/kernel/limit,linux/qdisc,change/kernel/carry,host/kernel/bbr}
}
# cubic_lt for every connection of a machine, and back; the Debian's kernel is too old for it.
test_default() {
	KERNEL=$1 VIRTUAL=1 RUN='CubicLT|TestRegister|TestKilled|TestHold' MINUTES=20 COUNTS=$counts tools/vm.sh internal/{linux/cubiclt,host/kernel/bbr}
}
has_lab() { tools/need.sh qemu-system-x86:qemu-system-x86_64 dpkg:dpkg-deb apt:apt-get xz-utils:xz chromium:chromium; }
step_machines() {
	if has_lab; then step "lab: machines" test_lab machines . ./internal/lab/kernel/vm/... ./internal/lab/kernel/guest; else skip "lab: machines" "QEMU is missing (above)"; fi
}
step_lab() {
	if ! has_lab; then
		skip "lab" "QEMU or Chromium is missing (above)"
		return
	fi
	step "lab: limits on a stock kernel" test_limits
	step "lab: report in a browser" test_lab report . ./internal/lab ./internal/lab/report ./internal/lab/plot
	struct_ops_kernel
	if [ -n "$CONGCTL_STRUCT_OPS_KERNEL" ]; then
		step "lab: cubic_lt as a machine's default" test_default "$CONGCTL_STRUCT_OPS_KERNEL"
	else
		skip "lab: cubic_lt as a struct_ops program" "no package of Linux 6.12 (above)"
	fi
}
# A run computes on one processor, so every other test goes beside the rest.
test_runs() {
	lab_kernels
	local tests
	tests=$(sed -nE 's/^func (TestLab\w+)\(.*/\1/p' cmd/congctl/*_test.go | sort)
	{
		go test -json -count=1 -timeout 40m -run "$(half 0 <<<"$tests")" ./cmd/congctl >"$scratch/half" || true &
		go test -json -count=1 -timeout 40m -run "$(half 1 <<<"$tests")" ./cmd/congctl || true
		wait $!
		cat "$scratch/half"
	} | go run ./tools/testsum -tier "lab: runs" -counts "$counts"
}
half() { awk -v n="$1" 'NR % 2 == n' | paste -sd '|' | sed 's/.*/^(&)$/'; }
step_runs() {
	local name="lab: quick, same bytes, mistakes, both worlds"
	if has_lab; then
		step "$name" test_runs
	else
		skip "$name" "QEMU or Chromium is missing (above)"
	fi
}

# ---- kernel configurations

# Merges the fragments onto a real kernel source and looks at what came out.
test_kconfig() {
	export CONGCTL_KERNEL_SOURCE=$1 CONGCTL_KERNEL_CONFIG=$1/distribution.config
	gotest "kernel fragments on real source" -count=1 -run 'OnRealSource' ./internal/host/kconfig
}
step_kconfig() {
	local name="kernel fragments on real source" source
	if source=$(tools/kernel-source.sh); then
		step "$name" test_kconfig "$source"
	else
		skip "$name" "no kernel source (above)"
	fi
}

# ---- a whole Debian

# Boots a Debian 12 from a disk image, turns BBR on, reboots, cuts the power. The image
# takes root to make, and a minute; whoever has it already needs none. A failed test gets a
# second look, alone: once in some hundred boots QEMU's nvme answers no more.
test_debian() {
	export CONGCTL_LAB_CACHE=${CONGCTL_LAB_CACHE:-$PWD/.cache/lab} CONGCTL_DEBIAN_CACHE=${CONGCTL_DEBIAN_CACHE:-$PWD/.cache/debian}
	mkdir -p "$CONGCTL_LAB_CACHE" "$CONGCTL_DEBIAN_CACHE"
	struct_ops_kernel
	{ go test -json -count=1 -timeout 50m -run '^TestDebian' ./internal/lab/kernel/distro || true; } |
		go run ./tools/testsum -tier debian -again 2 -counts "$counts"
}
step_debian() {
	local name="a Debian, its reboots and power cuts"
	if [ "$(id -u)" -ne 0 ]; then
		skip "$name" "not root, which the chroot of debootstrap needs: run 'sudo tools/check.sh debian'"
	elif ! tools/need.sh qemu-system-x86:qemu-system-x86_64 dpkg:dpkg-deb apt:apt-get xz-utils:xz debootstrap:debootstrap e2fsprogs:mke2fs sqlite3:sqlite3 openssl:openssl; then
		skip "$name" "QEMU, debootstrap, sqlite3 or openssl is missing (above)"
	else
		step "$name" test_debian
	fi
}

# ---- what a fleet stands on

# Kafka and ClickHouse themselves, on loopback. The other tiers skip these tests. They run as root, beside a Debian in QEMU. If at
# most two fail, each runs once more, alone.
test_fleet() {
	export CONGCTL_KAFKA_CACHE=$1 CONGCTL_CLICKHOUSE_CACHE=$2 CONGCTL_CHDB_CACHE=$3 CONGCTL_PROMETHEUS_CACHE=$4
	unset CONGCTL_LAB_CACHE # with it cmd/congctl is the lab's, and has no namespace of its own
	{ go test -json -count=1 -timeout 30m -p 1 \
		-run '^(TestRealBroker|TestSecureBroker|TestRoundTrip|TestSameWindowRows|TestKillBetweenInsertAndCommit|TestEnds|TestView|TestCurrentEngine|TestSchema|TestSchemaBefore|TestDerived|TestRetain|TestIngestLosesNothing|TestBrokerKilled|TestFleetThroughClickHouse|TestDemoFleet|TestTakeOver|TestSiege|TestStopWithoutKafka|TestSameDay|TestDashboardQueries|TestEachPartIsScraped)$' \
		./internal/fleet/store/kafka ./internal/fleet/store/clickhouse ./cmd/congctl || true; } |
		go run ./tools/testsum -tier "Kafka and ClickHouse" -again 2 -counts "$counts"
}
step_fleet() {
	local name="a fleet's records through Kafka into ClickHouse" kafka clickhouse chdb= prometheus=
	if ! tools/need.sh openjdk-17-jre-headless:java maven:mvn dpkg:dpkg-deb apt:apt-get; then
		skip "$name" "java, maven or apt is missing (above)"
	elif kafka=$(tools/kafka.sh "$PWD/.cache/kafka") && clickhouse=$(tools/clickhouse.sh "$PWD/.cache/clickhouse"); then
		if ! tools/need.sh gcc:gcc npm:npm || ! chdb=$(tools/chdb.sh "$PWD/.cache/chdb"); then
			skip "the schema on a current ClickHouse engine" "a compiler, npm or the engine's package is missing (above)"
		fi
		prometheus=$(tools/prometheus.sh "$PWD/.cache/prometheus") || skip "a scrape of each part" "Debian's package prometheus cannot be had (above)"
		step "$name" test_fleet "$kafka" "$clickhouse" "$chdb" "$prometheus"
	else
		skip "$name" "Kafka's jars or ClickHouse's packages cannot be had (above)"
	fi
}

# A day's decisions are the same from SQLite and from ClickHouse. It takes the lab's kernel.
test_day() {
	export CONGCTL_LAB_CACHE=${CONGCTL_LAB_CACHE:-$PWD/.cache/lab} CONGCTL_CLICKHOUSE_CACHE=$1
	gotest "a lab's day in ClickHouse" -count=1 -timeout 15m -run '^TestSameLabDay$' ./cmd/congctl
}
step_day() {
	local name="a lab's day in ClickHouse" clickhouse
	if ! tools/need.sh dpkg:dpkg-deb apt:apt-get || ! clickhouse=$(tools/clickhouse.sh "$PWD/.cache/clickhouse"); then
		skip "$name" "apt is missing or ClickHouse's packages cannot be had (above)"
	else
		step "$name" test_day "$clickhouse"
	fi
}

# ---- what operators see

# A real Prometheus scrapes, and promtool fires each alert. The other tiers skip these tests.
test_metrics() {
	export CONGCTL_PROMETHEUS_CACHE=$1
	gotest "Prometheus" -count=1 -timeout 5m -run '^(TestAlertRules|TestPrometheusScrapes|TestPromtoolReadsPlain)$' ./cmd/congctl
}
step_metrics() {
	local name="alert rules and scrapes of a real Prometheus" prometheus
	if ! tools/need.sh dpkg:dpkg-deb apt:apt-get; then
		skip "$name" "apt is missing (above)"
	elif prometheus=$(tools/prometheus.sh "$PWD/.cache/prometheus"); then
		step "$name" test_metrics "$prometheus"
	else
		skip "$name" "Debian's package prometheus cannot be had (above)"
	fi
}

# ---- generated files

# Generate in a copy: a check must not change the tree that it checks. What steps beside it write, node_modules and caches, is no part of it.
generate_and_compare() {
	local copy=$scratch/generate
	mkdir -p "$copy"
	tar --exclude=./.git --exclude=./.cache --exclude=./bin --exclude=node_modules -cf - . | tar -C "$copy" -xf -
	(cd "$copy" && tools/generate.sh)
	diff -r --brief --exclude=.git --exclude=.cache --exclude=bin --exclude=node_modules . "$copy" ||
		{ echo "generated files differ from their sources: run 'make generate' and commit"; return 1; }
}
step_generate() {
	local name="generating gives the committed files" have
	if ! tools/need.sh clang:clang llvm:llvm-strip libbpf-dev:/usr/include/bpf/bpf_helpers.h protobuf-compiler:protoc; then
		skip "$name" "compilers are missing (above)"
		return
	fi
	have=$(clang -dumpversion | cut -d. -f1)
	if [ "$have" != $clang_major ]; then
		skip "$name" "clang $have here; the committed objects are of clang $clang_major"
		return
	fi
	step "$name" generate_and_compare
}

# ---- fuzzing, by make fuzz; each benchmark runs at all

fuzz_targets() { # "package target" lines
	{ find cmd internal tools -name '*_test.go' -exec grep -oHE '^func Fuzz[A-Za-z0-9_]+' {} + || true; } |
		sed -E 's,^(.*)/[^/]+:func (Fuzz.*)$,./\1 \2,' | sort -u
}
fuzz_all() {
	local pkg target ok=0
	while read -r pkg target; do
		if fuzz_one "$pkg" "$target" >"$log" 2>&1; then
			count "fuzz ${pkg#./internal/} $target" 1 0 0
		else
			cat "$log"
			count "fuzz ${pkg#./internal/} $target" 0 1 0
			ok=1
		fi
	done < <(fuzz_targets)
	return $ok
}
# Only what is ours is instrumented, once for all targets: the standard library and the rest of the modules take three times
# what all targets do. FuzzEveryDoor goes unguided: it links nearly all that is ours, and its 27 decoders are each measured.
# Without a bound Go spends up to a minute on making an interesting input smaller.
fuzz_one() { # PACKAGE TARGET
	local times=$fuzz_time binary ours
	ours=$(go list -m)
	binary=$scratch/fuzz/${1//\//_}
	if [ "$2" = FuzzEveryDoor ]; then
		times=2000x ours=none
	fi
	[ -x "$binary" ] || go test -c -gcflags="$ours/...=-d=libfuzzer -dwarf=false" -o "$binary" "$1"
	(cd "$1" && "$binary" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$times" -test.fuzzminimizetime 100x -test.fuzzcachedir "$binary.cache" </dev/null)
}
step_fuzz() {
	if [ -z "$(fuzz_targets)" ]; then skip "fuzz" "no fuzz targets"; else step "fuzz, $fuzz_time each" fuzz_all; fi
}

# bench_packages lists those with benchmarks: the tests of each other one take a second to link.
bench_packages() { grep -rlE --include='*_test.go' '^func Benchmark' cmd internal tools | xargs -n 1 dirname | sort -u | sed 's,^,./,'; }
# With -short two of them are of a tenth of their size: here each only has to run.
bench_once() {
	# shellcheck disable=SC2046 # a list of packages
	gotest "bench smoke, one iteration" -short -run '^$' -bench . -benchtime 1x -p 1 $(bench_packages)
}
step_bench() { step "bench smoke" bench_once; }

# ---- a newcomer's machine

fresh_here() { [ "$(id -u)" -eq 0 ] && tools/need.sh debootstrap:debootstrap; }
step_fresh() {
	local name="a fresh Debian: make demo, make test"
	if [ "$(id -u)" -ne 0 ]; then
		skip "$name" "not root, which the chroot of debootstrap needs: run 'sudo tools/check.sh fresh'"
	elif ! tools/need.sh debootstrap:debootstrap; then
		skip "$name" "debootstrap is missing (above)"
	else
		step "$name" env COUNTS="$counts" LAB="${CONGCTL_LAB_CACHE:-$PWD/.cache/lab}" tools/fresh.sh
	fi
}
