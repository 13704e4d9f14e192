#!/bin/sh
# Only dpkg --purge deletes what congctl has learnt.
set -e
[ "$1" = purge ] || exit 0
rm -rf /var/lib/congctl /var/lib/congctl-controller
