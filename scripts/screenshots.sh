#!/usr/bin/env bash
# Makes pictures of every page of the web page: scripts/screenshots.sh [FOLDER] (default build/screenshots); with --readme
# the two of the README, into docs/pictures. Needs a release build and chromium (scripts/install.sh --tests). The fleets on
# them are made up (tests/e2e/page_fleet.cc, page_hardware.cc).
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=${1:-$PWD/build/screenshots}
forms=all
if [[ $folder == --readme ]]; then
  folder=$PWD/docs/pictures
  forms=readme
fi
# shellcheck source=scripts/page_servers.sh
source scripts/page_servers.sh
mkdir -p "$folder"

port=${PLIMSOLL_SCREENSHOT_PORT:-17970}
serve page_fleet profiles "$port"
build/bin/plimsoll measure --server "127.0.0.1:$port" --job search --for 5s --max-machines 16 >/dev/null ||
  die "no draw could be made: $(reason_in "$scratch/page_fleet-profiles.log")"
serve page_hardware profiles "$((port + 2))"
FORMS=$forms PLIMSOLL_URL=http://127.0.0.1:$port PLIMSOLL_HARDWARE_URL=http://127.0.0.1:$((port + 2)) CHROMIUM=$(command -v chromium) \
  node build/web/browser/screenshots.mjs "$folder"
printf 'pictures in %s\n' "$folder"
