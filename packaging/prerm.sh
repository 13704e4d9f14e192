#!/bin/sh
# Before the program goes, not before an upgrade (deb: remove, rpm: 0): what runs ends, in its
# orderly way, and no boot starts it.
set -e
case "$1" in
remove | 0) ;;
*) exit 0 ;;
esac
[ -d /run/systemd/system ] || exit 0
for unit in congctl congctl-agent congctl-controller congctl-ingest; do
	systemctl --quiet disable --now "$unit.service" || true # another one may never have been used
done
