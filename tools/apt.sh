#!/usr/bin/env bash
# apt.sh ARGS... is apt-get ARGS..., one at a time: steps of check.sh run side by side, and apt-get refuses a second update, and
# cannot read its lists while they change.
set -euo pipefail
exec 9</var/lib/dpkg
flock -w 900 9 || { echo "apt.sh: another apt-get has not ended for 15 minutes" >&2; exit 1; }
apt-get -o Acquire::Retries=3 "$@" 9<&- # this shell holds the lock
