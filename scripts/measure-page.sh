#!/usr/bin/env bash
# Measures how large and how fast the web page is in headless chromium, and prints a table with the goals. Needs a release build
# and chromium (scripts/install.sh --tests). Times vary with what else the machine does.
# Usage: scripts/measure-page.sh [TIMES]   each time is measured so often (default 5)
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

times=${1:-5}
[[ $times =~ ^[1-9][0-9]*$ ]] || die "usage: scripts/measure-page.sh [TIMES]"
# shellcheck source=scripts/page_servers.sh
source scripts/page_servers.sh
port=${PLIMSOLL_SCREENSHOT_PORT:-17970}
serve page_fleet profiles "$port"
serve page_fleet large "$((port + 2))"
bytes=$(node web/page_size.mjs build/web/dist | cut -d' ' -f1)
PLIMSOLL_URL=http://127.0.0.1:$port PLIMSOLL_LARGE_URL=http://127.0.0.1:$((port + 2)) PAGE_BYTES=$bytes TIMES=$times \
  CHROMIUM=$(command -v chromium) node build/web/browser/measure.mjs
