#!/usr/bin/env bash
# fresh.sh does what a newcomer does. On a fresh Debian 12 with Go, git and make and nothing
# else (no QEMU, homes with nothing but compiled code) it clones this tree and types the README's two
# commands: first as an ordinary user, who must be told exactly what is missing; then as
# root, where `make demo` installs what it needs, with its own kernel and then, a few minutes of its day,
# with a stock one; then `make test` as that user, after the command that `make test` asked for, with the modules that
# root's build fetched. Uncommitted changes are not in a clone.
#
#   fresh.sh [COMMIT]     default HEAD
#   COUNTS=file           append the counts of the tests without root to a file, as testsum does
#   LAB=folder            the lab's kernel that make demo built is copied to it
#   MIRROR=               another Debian mirror
#
# Needs root for the chroot. It mounts in a mount namespace of its own and removes all
# that it made; processes end with it, at the latest after the limits below.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse "${1:-HEAD}")
go=$(go env GOROOT)

[ "$(id -u)" -eq 0 ] || { echo "fresh.sh: needs root, for the chroot of debootstrap" >&2; exit 1; }
tools/need.sh debootstrap:debootstrap util-linux:unshare
root=$(mktemp -d "${TMPDIR:-/var/tmp}/congctl-fresh.XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
said=$root/said

echo "fresh: a Debian 12"
start=$SECONDS
debootstrap --variant=minbase --include=ca-certificates,git,make bookworm "$root" "${MIRROR:-http://deb.debian.org/debian}" >"$root.log" 2>&1 ||
	{ tail -n 20 "$root.log"; rm -f "$root.log"; exit 1; }
rm -f "$root.log"
chmod 755 "$root"
chroot "$root" useradd --create-home newcomer
echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/90yes" # a person would type it
echo "deb ${MIRROR:-http://deb.debian.org/debian}-security bookworm-security main" >>"$root/etc/apt/sources.list" # as Debian's installer does
for f in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do cp -L "$f" "$root$f"; done
mkdir "$root/usr/local/go"
git bundle create -q "$root/congctl.bundle" HEAD
echo "fresh: made ($((SECONDS - start)) s)"

# within USER MINUTES COMMAND runs a command line in USER's clone, keeps what it says, and shows the last $shown lines.
shown=8
within() {
	local start=$SECONDS status=0 home
	home=$(chroot "$root" sh -c "echo ~$1")
	# shellcheck disable=SC2016 # expanded by the inner shell
	timeout --foreground --kill-after=10 "$(($2 * 60))" unshare --mount --pid --fork --kill-child --propagation private bash -euc '
		mount -t proc proc "$1/proc"
		mount --rbind /dev "$1/dev"
		mount --rbind /sys "$1/sys"
		mount --bind -o ro "$2" "$1/usr/local/go"
		shift 2
		exec chroot --userspec="$1:$1" "$root" env -i HOME="$2" USER="$1" LANG=C.UTF-8 \
			PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			GOPROXY="$GOPROXY" GOSUMDB="$GOSUMDB" bash -euc "cd; [ -d congctl ] || git clone -q --no-checkout /congctl.bundle congctl; cd congctl; git checkout -q $3; $4"
	' within "$root" "$go" "$1" "$home" "$commit" "$3" >"$said" 2>&1 </dev/null || status=$?
	sed 's/^/  | /' "$said" | if [ $status -eq 0 ]; then tail -n "$shown"; else tail -n 300; fi
	echo "fresh: $1: $3: exit $status ($((SECONDS - start)) s)"
	return $status
}
export root
built=$(go env GOCACHE)
GOPROXY=$(go env GOPROXY) GOSUMDB=$(go env GOSUMDB)
export GOPROXY GOSUMDB

# lacks COMMAND PROGRAM PACKAGE: run by the ordinary user, it names both and ends.
lacks() {
	if within newcomer 10 "$1"; then
		echo "fresh: $1 succeeds without $2"
		return 1
	fi
	grep -q "^missing:.* $2\( \|\$\)" "$said" && grep -q "sudo apt-get install.* $3\( \|\$\)" "$said" ||
		{ echo "fresh: $1 does not say that $2 is missing and $3 has it"; return 1; }
}

# share gives USER what this machine has built, in links: Go takes it by content, and what is compiled a second time
# shows nothing new. Results of tests stay behind.
share() {
	local home
	home=$(chroot "$root" sh -c "echo ~$1")
	mkdir -p "$root$home/.cache/go-build"
	cp -aln "$built/." "$root$home/.cache/go-build" 2>/dev/null || true # another file system: build again
	rm -f "$root$home/.cache/go-build/testexpire.txt"                  # this machine's
	chroot "$root" find "$home/.cache" -type d -exec chown "$1:" {} +  # and no file of this machine's
}

# inherit gives the ordinary user what root has fetched and built, too.
inherit() {
	local dir home
	home=$(chroot "$root" sh -c 'echo ~newcomer')
	for dir in .cache go/pkg; do
		mkdir -p "$root$home/$dir"
		cp -al "$root/root/$dir/." "$root$home/$dir"
	done
	chroot "$root" chown -R newcomer: "$home/go"
	share newcomer
}

# keep_kernel copies the lab's kernel that root has built; another step may look for one meanwhile.
keep_kernel() {
	local built
	built=$(echo "$root/root/congctl/.cache/lab/"uml-*)
	mkdir -p "$LAB" && cp -r "$built" "$LAB/.fresh" && mv -nT "$LAB/.fresh" "$LAB/${built##*/}"
}

bad=0
lacks "make demo" flex flex || bad=1
lacks "make demo WORLD=vm" qemu-system-x86_64 qemu-system-x86 || bad=1
lacks "make test" gcc gcc || bad=1
advice=$(sed -n 's/^ *on Debian: sudo //p' "$said")
share root
clone=$SECONDS
within root 40 "make demo" && within root 1 "ls -l bin/demo/report.html" &&
	echo "fresh: git clone to the page of make demo, with compiled code: $((SECONDS - clone)) s" || bad=1
[ -z "${LAB:-}" ] || keep_kernel || bad=1
within root 15 "make demo WORLD=vm LENGTH=8m" && within root 1 "ls -l bin/demo/report.html" || bad=1
inherit && within root 10 "${advice:-false}" || bad=1
shown=1000 # with each skip and its reason
within newcomer 40 "go clean -testcache; make test" || bad=1
failed=$(sed -n 's/^failed: no root: //p' "$said")
[ -z "${COUNTS:-}" ] || sed -nE 's/^(no root) +([0-9]+) passed +([0-9]+) failed +([0-9]+) skipped +([0-9]+) flaky$/\1\t\2\t\3\t\4\t\5/p' "$said" | failed=$failed awk '{ print $0 "\t" ENVIRON["failed"] }' >>"$COUNTS"
exit $bad
