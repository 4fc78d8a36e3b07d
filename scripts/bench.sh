#!/usr/bin/env bash
# Builds the release preset and runs every benchmark (build/bin/*_bench) with the arguments given here, such as --quick
# or --json. Before, it fetches the databases that store_bench compares with, and without --quick also what the others measure on
# (scripts/packages-bench.txt).
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Measurements are all that may go to standard output.
{
  if [[ " $* " == *" --quick "* ]]; then scripts/install.sh --peers; else scripts/install.sh --bench; fi
  build release
} >&2
for benchmark in build/bin/*_bench; do
  printf '==> %s\n' "$(basename "$benchmark")" >&2
  "$benchmark" "$@" || die "$(basename "$benchmark") failed"
done
