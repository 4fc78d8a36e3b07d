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
for benchmark in build/bin/*_bench; do
  printf '==> %s\n' "$(basename "$benchmark")" >&2
  "$benchmark" "$@" || die "$(basename "$benchmark") failed"
done
