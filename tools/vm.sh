#!/usr/bin/env bash
# vm.sh runs the kernel tests on another kernel than this host's: a Debian kernel
# package in QEMU with software emulation. The host needs no root, no KVM and no
# modules; inside the tests are root. See docs/kernels.md.
#
#   vm.sh                    all packages below
#   vm.sh PACKAGE_DIR...     only these
#
#   KERNEL=linux-image-...   another kernel package (apt-get download must find it)
#   KERNEL=/path/to/x.deb    or a package that lies there, or a directory with an unpacked one
#   RUN=pattern, SKIP=pattern    only the tests that match; all but these
#   SHORT=                   the slow ones too (without -test.short)
#   MINUTES=20               the machine is ended after so long
#   CPUS=2                   of the machine
#   VIRTUAL=1                in virtual time, on one processor: what the host is busy with does not show
#   COUNTS=file              append the counts to a file, as testsum does
set -euo pipefail
# Relative paths are relative to where the command was typed.
[ ! -e "${KERNEL:-}" ] || KERNEL=$(realpath "$KERNEL")
[ -z "${COUNTS:-}" ] || COUNTS=$(realpath -m "$COUNTS")
cd "$(dirname "$0")/.."
# ip and tc are in directories that a user's PATH may lack.
export PATH="$PATH:/usr/sbin:/sbin" CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS="-buildvcs=false -trimpath -vet=off -gcflags=all=-dwarf=false -ldflags=-s"

packages=("$@")
[ $# -gt 0 ] || packages=(internal/{loop/kernel/enforce,linux/sample,linux/netns,linux/qdisc,shape/kernel/limit} \
	internal/{change/kernel/carry,host/kernel/bbr,lab/kernel/world} cmd/congctl)
# What the tests use: congestion controls, dumps, links, queues. The first process
# loads them, as a distribution's udev or modprobe would on demand.
modules=tcp_bbr,inet_diag,tcp_diag,mptcp_diag,veth,ifb,sch_tbf,sch_netem,sch_fq,sch_fq_codel,sch_ingress,cls_matchall,act_police,act_mirred,act_gact
modules+=,sch_htb,sch_prio,sch_red,sch_choke,sch_sfq,sch_codel,sch_cake,sch_pie,sch_fq_pie,sch_hhf,cls_u32,cls_bpf
programs=(ip tc ss sleep unshare)

tools/need-go.sh
tools/need.sh qemu-system-x86:qemu-system-x86_64 dpkg:dpkg-deb apt:apt-get xz-utils:xz iproute2:ip util-linux:unshare
cache=$PWD/.cache/vm
mkdir -p "$cache"

# unpack_kernel sets $kernel, a directory with the unpacked package.
unpack_kernel() {
	local package=${KERNEL:-} deb
	if [ -z "$package" ]; then # the newest of this release
		package=$(apt-cache depends linux-image-cloud-amd64 | awk '$1 == "Depends:" { print $2; exit }')
		[ -n "$package" ] || { echo "vm.sh: apt knows no linux-image-cloud-amd64; name a package: KERNEL=..." >&2; exit 1; }
	fi
	kernel=$package
	[ ! -d "$kernel" ] || return 0
	kernel=$cache/$(basename "$package" .deb)
	[ ! -d "$kernel" ] || return 0
	deb=$package
	if [ ! -f "$deb" ]; then
		(apt=$PWD/tools/apt.sh && cd "$cache" && "$apt" -o APT::Sandbox::User=root download -qq "$package")
		deb=$(find "$cache" -maxdepth 1 -name "${package}_*.deb" | sort -V | tail -n 1)
	fi
	dpkg-deb -x "$deb" "$kernel.new"
	mv "$kernel.new" "$kernel"
}

# fill_root makes the guest's files: tests in a copy of the tree, and the host's
# own iproute2 with the libraries that it needs.
fill_root() {
	local dir program lib
	rm -rf "$root"
	mkdir -p "$root"/{src,tests,dev,etc,root}
	echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
	git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -cf - -T - | tar -C "$root/src" -xf -
	for dir in "${packages[@]}"; do
		go test -c -o "$root/tests/${dir//\//-}" "./$dir"
		echo "$dir /tests/${dir//\//-} -test.v=test2json ${SHORT--test.short} -test.timeout=${MINUTES:-20}m ${RUN:+-test.run=$RUN} ${SKIP:+-test.skip=$SKIP}"
	done >"$root/plan"
	for program in "${programs[@]}"; do
		program=$(command -v "$program")
		for lib in "$program" $(ldd "$program" | grep -o '/[^ ]*' || true); do
			mkdir -p "$root$(dirname "$lib")"
			cp -L "$lib" "$root$lib"
		done
	done
	go build -o "$root/init" ./tools/vm/guest
}

# Without cx16: Linux 6.12 allocates memory by CMPXCHG16B, which QEMU 7.2 emulates
# wrongly (the flags take bytes of a pointer), and dies at boot.
#
# Virtual time as the lab has it (internal/lab/kernel/vm/qemu.go): without recording and with
# a local APIC's timer a guest on a busy host skipped from stale times, or never woke up.
boot() {
	local status=0 cpu=max,-cx16 words="console=ttyS0 panic=-1 quiet" virtual=()
	words+=" mitigations=off init_on_alloc=0 audit=0 cryptomgr.notests=1" # no test looks at them, and each takes instructions
	if [ -n "${VIRTUAL:-}" ]; then
		virtual=(-icount "shift=0,sleep=off,rr=record,rrfile=/dev/null" -rtc clock=vm) CPUS=1
		cpu+=,-rdrand,-rdseed,-erms
		words+=" tsc=reliable nolapic_timer pci=noacpi psi=0 CONGCTL_VIRTUAL=1" # the kernel gives its first process what it does not know
	fi
	timeout "$((${MINUTES:-20} * 60))" qemu-system-x86_64 -machine pc -accel tcg -cpu "$cpu" -smp "${CPUS:-2}" -m 2048 "${virtual[@]}" \
		-nodefaults -nographic -no-reboot -serial "file:$cache/console" -serial "file:$cache/report" \
		-kernel "$kernel"/boot/vmlinuz-* -initrd "$cache/initramfs" -append "$words" || status=$?
	tr -d '\r' <"$cache/report" >"$cache/report.txt"
	[ $status -ne 124 ] || echo "vm.sh: ended after ${MINUTES:-20} minutes"
}

# output_of PACKAGE_DIR prints what its tests printed, and as the go command does
# FAIL after a program that ended badly or not at all.
output_of() {
	awk -v dir="$1" '
		$1 == "@@" && $3 == dir { on = $2 == "run"; if ($2 == "end") status = $4; next }
		on
		END { if (status != "0") print "FAIL" }' "$cache/report.txt"
}

# judge turns the guest's report into the counts of each package.
judge() {
	local dir bad=0
	grep '^@@ up\|^guest:' "$cache/report.txt" || { cat "$cache/console"; echo "vm.sh: the guest did not come up" >&2; return 1; }
	for dir in "${packages[@]}"; do
		output_of "$dir" | go tool test2json -t -p "$dir" | "$cache/testsum" -tier "$dir" ${COUNTS:+-counts "$COUNTS"} || bad=1
	done
	return $bad
}

root=$cache/root
unpack_kernel
go build -o "$cache/testsum" ./tools/testsum
fill_root
go run ./internal/lab/kernel/vm/initramfs -root "$root" -modules "$kernel"/lib/modules/* -load "$modules" -out "$cache/initramfs"
started=$SECONDS
boot
echo "vm.sh: $(basename "$kernel"), $((SECONDS - started)) s"
judge
