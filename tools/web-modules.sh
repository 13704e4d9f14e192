#!/usr/bin/env bash
# web-modules.sh installs what web/package-lock.json names into web/node_modules, unless it is there. One at a time: npm
# begins by deleting the folder, from which another step of CI may be running.
set -euo pipefail
cd "$(dirname "$0")/../web"
exec 9<package-lock.json
flock -w 600 9 || { echo "web-modules: another process has held web/package-lock.json for 600 s: end it" >&2; exit 1; }
# npm writes this one last.
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --ignore-scripts
