#!/usr/bin/env bash
# Prints how exposed `systemd-analyze security` finds the units of daemon and server (0 to 10, less is better), and fails where one is
# more so than its limit or a line of it is wrong. Exit status 77: there is no systemd-analyze to ask.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v systemd-analyze >/dev/null; then
  echo "check-unit.sh: systemd-analyze is missing; run scripts/install.sh --tests"
  exit 77
fi

# check UNIT LIMIT
check() {
  local unit=$1 limit=$2 complaints
  # The programs are not installed where the unit is only checked: everything else that verify says is an error.
  complaints=$(systemd-analyze verify "scripts/$unit" 2>&1 | grep -v 'is not executable: No such file' || true)
  if [[ -n $complaints ]]; then
    printf '%s\n' "$complaints" >&2
    exit 1
  fi
  systemd-analyze security --offline=true --no-pager --threshold="${limit/./}" "scripts/$unit" | tail -n 1
}

check plimsolld.service 2.7
check plimsoll-server.service 1.3
