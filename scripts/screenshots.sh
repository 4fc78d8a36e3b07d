#!/usr/bin/env bash
# Makes pictures of every page of the web page: scripts/screenshots.sh [FOLDER] (default build/screenshots). Needs a release build and
# chromium (scripts/install.sh --tests). The fleet on them is made up (tests/e2e/page_fleet.cc).
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=${1:-$PWD/build/screenshots}
command -v chromium >/dev/null || die "chromium is missing: scripts/install.sh --tests"
[[ -x build/bin/page_fleet ]] || die "there is no build: cmake --preset release && cmake --build build --target plimsoll page_fleet page_scripts"
mkdir -p "$folder"
scratch=$(mktemp -d)
server='' heartbeats=''
end() {
  [[ -z $heartbeats ]] || kill "$heartbeats" 2>/dev/null || true
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  rm -rf "$scratch"
}
trap end EXIT

build/bin/page_fleet profiles "$scratch/profiles"
build/bin/plimsoll import --data "$scratch/data" "$scratch"/profiles/*.profile >"$scratch/import.log" 2>&1 ||
  die "importing the fleet failed: $(reason_in "$scratch/import.log")"
port=${PLIMSOLL_SCREENSHOT_PORT:-17970}
build/bin/plimsoll server --data "$scratch/data" --listen "127.0.0.1:$port" --fleet-listen "127.0.0.1:$((port + 1))" \
  >"$scratch/server.log" 2>&1 &
server=$!
for _ in $(seq 100); do
  ! curl -sf "http://127.0.0.1:$port/readyz" >/dev/null || break
  sleep 0.1
done
build/bin/page_fleet register "http://127.0.0.1:$((port + 1))" || die "the server did not start: $(reason_in "$scratch/server.log")"
# Machines are live as long as they report.
while sleep 3; do build/bin/page_fleet register "http://127.0.0.1:$((port + 1))" || true; done &
heartbeats=$!
PLIMSOLL_URL=http://127.0.0.1:$port CHROMIUM=$(command -v chromium) node build/web/browser/screenshots.mjs "$folder"
printf 'pictures in %s\n' "$folder"
