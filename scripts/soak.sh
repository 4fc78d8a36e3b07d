#!/usr/bin/env bash
# Long runs, for a night or a release: fuzzing with seeds that no short run reaches, under AddressSanitizer, and the sweep
# that kills the server at random moments, a thousand times. --minutes N bounds the fuzzing (60 unless said). Prints one
# dated line for each run, which build/logs/soak.txt keeps.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

minutes=60
while (($#)); do
  case $1 in
    --minutes)
      [[ ${2:-} =~ ^[0-9]+$ ]] || die "--minutes needs a number"
      minutes=$2
      shift 2
      ;;
    *) die "unknown argument $1; there is only --minutes N" ;;
  esac
done

# Prints and keeps one line.
note() {
  mkdir -p "$LOG_DIR"
  printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$1" | tee -a "$LOG_DIR/soak.txt"
}

# has_target FOLDER NAME
has_target() {
  local targets
  targets=$(cmake --build "$1" --target help)
  grep -qE "^$2:" <<<"$targets"
}

soak_fuzz() {
  local deadline=$((SECONDS + minutes * 60)) first seed log=$LOG_DIR/soak-fuzz.log
  first=$(date +%s)
  seed=$first
  while ((SECONDS < deadline)); do
    if ! PLIMSOLL_FUZZ_SEED=$seed build-asan/bin/fuzz_profile_test --gtest_filter='*' >"$log" 2>&1; then
      note "fuzz_profile_test failed with PLIMSOLL_FUZZ_SEED=$seed"
      die "fuzz_profile_test failed with PLIMSOLL_FUZZ_SEED=$seed: $(reason_in "$log") (log: $log)"
    fi
    seed=$((seed + 1))
  done
  note "fuzz_profile_test passed with $((seed - first)) seeds from $first on"
}

soak_crashes() {
  local started=$SECONDS log=$LOG_DIR/soak-crashes.log
  if ! PLIMSOLL_CRASHES=1000 build/bin/crash_test --gtest_filter='*' >"$log" 2>&1; then
    note "crash_test failed with PLIMSOLL_CRASHES=1000"
    die "crash_test failed: $(reason_in "$log") (log: $log)"
  fi
  note "crash_test passed with 1000 crashes in $((SECONDS - started)) s"
}

scripts/install.sh
step "configure asan" cmake --preset asan
step "configure release" cmake --preset release
has_target build-asan fuzz_profile_test || die "there is no test program fuzz_profile_test in this tree"
has_target build crash_test || die "there is no test program crash_test in this tree"
step "build fuzz_profile_test" cmake --build build-asan --target fuzz_profile_test
step "build crash_test" cmake --build build --target crash_test
soak_fuzz
soak_crashes
