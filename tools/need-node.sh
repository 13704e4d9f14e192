#!/usr/bin/env bash
# need-node.sh makes sure that Node is there and new enough for Vite 8. Debian 12 has 18, Debian 13 has 20.
set -euo pipefail
"$(dirname "$0")/need.sh" nodejs:node npm:npm
node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' ||
	{ echo "need: Node $(node -v) is too old to build the dashboard's page: install 20.19 or newer" >&2; exit 1; }
