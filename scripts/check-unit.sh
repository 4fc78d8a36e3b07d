#!/usr/bin/env bash
# Prints how exposed `systemd-analyze security` finds the daemon's unit (0 to 10, less is better), and fails where it is
# more than the limit or a line of the unit is wrong. Exit status 77: there is no systemd-analyze to ask.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly LIMIT=2.7
if ! command -v systemd-analyze >/dev/null; then
  echo "check-unit.sh: systemd-analyze is missing; run scripts/install.sh --tests"
  exit 77
fi

# The programs are not installed where the unit is only checked: everything else that verify says is an error.
complaints=$(systemd-analyze verify scripts/plimsolld.service 2>&1 | grep -v 'is not executable: No such file' || true)
if [[ -n $complaints ]]; then
  printf '%s\n' "$complaints" >&2
  exit 1
fi
systemd-analyze security --offline=true --no-pager --threshold="${LIMIT/./}" scripts/plimsolld.service | tail -n 1
