#!/usr/bin/env bash
# Installs, builds the release preset and runs its tests in parallel, but for those that need the whole machine (WHOLE_MACHINE in
# tests/CMakeLists.txt). End-to-end tests mostly wait: twice as many run as there are processors; those that fail run once more, alone.
# --quick runs the unit tests only. The last line is "N passed, N failed, N skipped"; the exit status is 0 only if none
# failed and at least one passed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

quick=0
for argument in "$@"; do
  case $argument in
    --quick) quick=1 ;;
    *) die "unknown argument $argument; there is only --quick" ;;
  esac
done

# .ci/run names a folder to collect the results of all its stages in.
RESULTS_DIR=${RESULTS_DIR:-$PWD/build/results}
mkdir -p "$RESULTS_DIR"
rm -f "$RESULTS_DIR"/*.xml

scripts/install.sh --tests
build release
if ((quick)); then
  run_tests release-unit build -L unit -LE e2e -j2
else
  run_tests release-unit build -L 'unit|threads|corpus|fuzz' -LE e2e -j2
  run_tests release-e2e build -L e2e -j4
  run_failed_alone release-e2e build
fi
shopt -s nullglob
summarize "$RESULTS_DIR"/*.xml
