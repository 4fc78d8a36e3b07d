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
command -v chromium >/dev/null || die "chromium is missing: scripts/install.sh --tests"
[[ -x build/bin/page_fleet && -x build/bin/page_hardware ]] || die "there is no build: cmake --preset release && cmake --build build --target plimsoll page_fleet page_hardware page_scripts"
mkdir -p "$folder"
scratch=$(mktemp -d)
running=()
end() {
  for process in "${running[@]}"; do kill "$process" 2>/dev/null || true; done
  rm -rf "$scratch"
}
trap end EXIT

# Draws by order alone: the scheduled ones are an hour away.
printf '[draw]\ninterval = "1h"\npercent = 50\nmax_percent_per_job = 100\nmax_percent_per_platform = 100\nstop_percent = 100\n' \
  >"$scratch/server.toml"

# serve FLEET PORT: a server with the profiles of a fleet, whose machines are live as long as they report.
serve() {
  local fleet=$1 port=$2
  "build/bin/$fleet" profiles "$scratch/$fleet"
  build/bin/plimsoll import --data "$scratch/$fleet-data" "$scratch/$fleet"/*.profile >"$scratch/import.log" 2>&1 ||
    die "importing the fleet failed: $(reason_in "$scratch/import.log")"
  build/bin/plimsoll server --config "$scratch/server.toml" --data "$scratch/$fleet-data" --listen "127.0.0.1:$port" \
    --fleet-listen "127.0.0.1:$((port + 1))" >"$scratch/$fleet.log" 2>&1 &
  running+=($!)
  for _ in $(seq 100); do
    ! curl -sf "http://127.0.0.1:$port/readyz" >/dev/null || break
    sleep 0.1
  done
  # Another server may have the port.
  kill -0 "${running[-1]}" 2>/dev/null || die "the server ended: $(reason_in "$scratch/$fleet.log")"
  "build/bin/$fleet" register "http://127.0.0.1:$((port + 1))" ||
    die "the server did not start: $(reason_in "$scratch/$fleet.log")"
  while sleep 3; do "build/bin/$fleet" register "http://127.0.0.1:$((port + 1))" || true; done &
  running+=($!)
}

port=${PLIMSOLL_SCREENSHOT_PORT:-17970}
serve page_fleet "$port"
build/bin/plimsoll measure --server "127.0.0.1:$port" --job search --for 5s --max-machines 16 >/dev/null ||
  die "no draw could be made: $(reason_in "$scratch/page_fleet.log")"
serve page_hardware "$((port + 2))"
FORMS=$forms PLIMSOLL_URL=http://127.0.0.1:$port PLIMSOLL_HARDWARE_URL=http://127.0.0.1:$((port + 2)) CHROMIUM=$(command -v chromium) \
  node build/web/browser/screenshots.mjs "$folder"
printf 'pictures in %s\n' "$folder"
