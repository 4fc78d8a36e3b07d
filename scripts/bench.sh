#!/usr/bin/env bash
# Builds the release preset and runs every benchmark (build/bin/*_bench) with the arguments given here, such as --quick
# or --json.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Measurements are all that may go to standard output.
{
  scripts/install.sh
  build release
} >&2
shopt -s nullglob
benchmarks=(build/bin/*_bench)
if ((${#benchmarks[@]} == 0)); then
  printf 'there are no benchmarks yet\n' >&2
  exit 0
fi
for benchmark in "${benchmarks[@]}"; do
  printf '==> %s\n' "$(basename "$benchmark")" >&2
  "$benchmark" "$@" || die "$(basename "$benchmark") failed"
done
