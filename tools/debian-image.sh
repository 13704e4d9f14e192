#!/usr/bin/env bash
# debian-image.sh VMLINUZ MODULES OUT makes a disk image with a real Debian 12: what
# debootstrap installs, systemd as its init, the kernel's modules, and a service that
# runs what the machine's host sends (tools/debian/overlay). No partition and no boot
# loader: QEMU boots the kernel itself. Nothing is mounted; root is needed for the chroot
# of debootstrap.
#
#   VMLINUZ    /boot/vmlinuz-RELEASE of a Debian kernel package; its config is beside it
#   MODULES    .../lib/modules/RELEASE
#   OUT        the image; what is there is replaced when the new one is whole
#   MIRROR=    another mirror
set -euo pipefail
vmlinuz=$(realpath "$1") modules=$(realpath "$2") out=$(realpath "$3")
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/sbin:/sbin"
suite=bookworm
# apt, passwd, util-linux and the like come by themselves. procps has the sysctl command
# of the tests; iproute2 is there to look with: congctl uses neither.
# network-manager is off until a test has it run a link; dbus and libpam-systemd stand for
# virtual packages that it needs, which debootstrap does not resolve.
packages=systemd,systemd-sysv,udev,kmod,procps,iproute2,netbase,network-manager,dbus,libpam-systemd
# Each costs seconds of a boot in emulation, and none sets a sysctl, a module or a queue.
masked=(apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer
	systemd-timesyncd.service systemd-logind.service systemd-tmpfiles-clean.timer getty@tty1.service getty-static.service
	serial-getty@ttyS0.service
	systemd-networkd-wait-online.service systemd-network-generator.service systemd-sysusers.service systemd-random-seed.service
	systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-journal-flush.service systemd-remount-fs.service
	dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount
	sys-fs-fuse-connections.mount proc-sys-fs-binfmt_misc.automount kmod-static-nodes.service modprobe@configfs.service
	modprobe@dm_mod.service modprobe@drm.service modprobe@efi_pstore.service modprobe@fuse.service modprobe@loop.service)

[ "$(id -u)" -eq 0 ] || { echo "debian-image.sh: needs root, for the chroot of debootstrap" >&2; exit 1; }
tools/need.sh debootstrap:debootstrap e2fsprogs:mke2fs
root=$(mktemp -d "$out.XXXXXX")
chmod 755 "$root"
trap 'rm -rf --one-file-system "$root" "$out.new"' EXIT
debootstrap --variant=minbase --include="$packages" $suite "$root" "${MIRROR:-http://deb.debian.org/debian}" >"$out.log" 2>&1 ||
	{ tail -n 20 "$out.log" >&2; exit 1; }

release=$(basename "$modules")
tar -C tools/debian/overlay --owner=0 --group=0 --mode=u=rwX,go=rX -cf - . | tar -C "$root" -xpf -
mkdir -p "$root/boot" "$root/usr/lib/modules"
cp -r "$modules" "$root/usr/lib/modules/"
cp "$(dirname "$vmlinuz")/config-$release" "$root/boot/"
chroot "$root" depmod "$release"
for unit in "${masked[@]}"; do ln -sf /dev/null "$root/etc/systemd/system/$unit"; done
# Nor do units that generators make: twelve programs at each boot and each daemon-reload, a sixth of a boot.
mkdir "$root/etc/systemd/system-generators"
for generator in "$root"/usr/lib/systemd/system-generators/*; do ln -s /dev/null "$root/etc/systemd/system-generators/${generator##*/}"; done
chroot "$root" systemctl -q disable NetworkManager NetworkManager-dispatcher NetworkManager-wait-online
chroot "$root" systemctl -q enable systemd-networkd drive
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id" # a first boot would set presets anew
chroot "$root" dpkg-query -W -f '${Package} ${Version} ${Installed-Size}\n' >"$out.packages"

rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
truncate -s 1G "$out.new"
mke2fs -q -t ext4 -E lazy_itable_init=0 -d "$root" "$out.new"
mv "$out.new" "$out"
awk -v out="$out" -v kernel="$release" '{ n++; s += $3 } END { printf "%s: %d packages, %d MB, kernel %s\n", out, n, s / 1024, kernel }' "$out.packages"
