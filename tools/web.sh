#!/usr/bin/env bash
# web.sh [DIR] builds the dashboard's page from the folder web, into internal/web/dist or DIR.
# The same sources and web/package-lock.json give the same bytes.
set -euo pipefail
out=$(realpath -m "${1:-internal/web/dist}")
cd "$(dirname "$0")/../web"
../tools/need-node.sh
../tools/web-modules.sh
npx --no-install tsc
npx --no-install vite build --logLevel warn --outDir "$out"
