# Servers of made-up fleets (tests/e2e/page_fleet.cc, page_hardware.cc) for scripts that open the web page in chromium. Sourced after
# lib.sh. What they need lies in $scratch, and ends with the script.
# shellcheck shell=bash

command -v chromium >/dev/null || die "chromium is missing: scripts/install.sh --tests"
[[ -x build/bin/page_fleet && -x build/bin/page_hardware ]] || die "there is no build: cmake --preset release && cmake --build build --target plimsoll page_fleet page_hardware page_scripts"
scratch=$(mktemp -d)
running=()
end_servers() {
  for process in "${running[@]}"; do kill "$process" 2>/dev/null || true; done
  rm -rf "$scratch"
}
trap end_servers EXIT

# Draws by order alone: the scheduled ones are an hour away.
printf '[draw]\ninterval = "1h"\npercent = 50\nmax_percent_per_job = 100\nmax_percent_per_platform = 100\nstop_percent = 100\n' \
  >"$scratch/server.toml"

# serve FLEET KIND PORT: a server with the profiles of a fleet, whose machines are live as long as they report.
serve() {
  local fleet=$1 kind=$2 port=$3 name=$1-$2
  "build/bin/$fleet" "$kind" "$scratch/$name"
  build/bin/plimsoll import --data "$scratch/$name-data" "$scratch/$name"/*.profile >"$scratch/import.log" 2>&1 ||
    die "importing the fleet failed: $(reason_in "$scratch/import.log")"
  build/bin/plimsoll server --config "$scratch/server.toml" --data "$scratch/$name-data" --listen "127.0.0.1:$port" \
    --fleet-listen "127.0.0.1:$((port + 1))" >"$scratch/$name.log" 2>&1 &
  running+=($!)
  for _ in $(seq 100); do
    ! curl -sf "http://127.0.0.1:$port/readyz" >/dev/null || break
    sleep 0.1
  done
  # Another server may have the port.
  kill -0 "${running[-1]}" 2>/dev/null || die "the server ended: $(reason_in "$scratch/$name.log")"
  "build/bin/$fleet" register "http://127.0.0.1:$((port + 1))" ||
    die "the server did not start: $(reason_in "$scratch/$name.log")"
  while sleep 3; do "build/bin/$fleet" register "http://127.0.0.1:$((port + 1))" || true; done &
  running+=($!)
}
