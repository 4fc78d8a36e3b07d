#!/usr/bin/env bash
# Long runs, for a night or a release: each fuzz test with seeds that no short run reaches, under AddressSanitizer; ten million
# random stacks unwound, once under AddressSanitizer and once against the clock; and the sweeps that kill the server and the
# daemon at random moments, a thousand times. --minutes N is how long each fuzz test runs (10 unless said); --fuzz-only leaves
# the sweeps out, --crashes-only all but the sweeps, and --only NAME, which may be repeated, all but that fuzz test.
# Prints one dated line for each run, which build/logs/soak.txt keeps.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

minutes=10
with_fuzz=yes
with_crashes=yes
only=()
while (($#)); do
  case $1 in
    --minutes)
      [[ ${2:-} =~ ^[0-9]+$ ]] || die "--minutes needs a number"
      minutes=$2
      shift 2
      ;;
    --fuzz-only)
      with_crashes=
      shift
      ;;
    --crashes-only)
      with_fuzz=
      shift
      ;;
    --only)
      [[ ${2:-} ]] || die "--only needs the name of a fuzz test"
      only+=("$2")
      shift 2
      ;;
    *) die "unknown argument $1; there are --minutes N, --fuzz-only, --crashes-only and --only NAME" ;;
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

# The names of the programs tests/fuzz builds.
fuzz_tests() {
  local targets
  targets=$(cmake --build build-asan --target help)
  sed -nE 's/^(fuzz_[a-z0-9_]+_test):.*/\1/p' <<<"$targets" | sort -u
}

# soak_fuzz NAME
soak_fuzz() {
  local deadline=$((SECONDS + minutes * 60)) first seed log=$LOG_DIR/soak-$1.log
  first=$(date +%s)
  seed=$first
  while ((SECONDS < deadline)); do
    if ! PLIMSOLL_FUZZ_SEED=$seed "build-asan/bin/$1" --gtest_filter='*' >"$log" 2>&1; then
      note "$1 failed with PLIMSOLL_FUZZ_SEED=$seed"
      die "$1 failed with PLIMSOLL_FUZZ_SEED=$seed: $(reason_in "$log") (log: $log)"
    fi
    seed=$((seed + 1))
  done
  note "$1 passed with $((seed - first)) seeds from $first on, in $minutes min"
}

# soak_stacks BUILD_FOLDER MOST_US: 0 for any time.
soak_stacks() {
  local log=$LOG_DIR/soak-stacks.log what="random stacks in $1"
  if ! PLIMSOLL_RANDOM_STACKS=10000000 PLIMSOLL_MOST_US_PER_STACK=$2 PLIMSOLL_FUZZ_SEED=$(date +%s) \
    "$1/bin/fuzz_random_stacks_test" --gtest_filter='*' >"$log" 2>&1; then
    note "$what failed: $(grep 'random stacks,' "$log" || true)"
    die "$what failed: $(reason_in "$log") (log: $log)"
  fi
  note "$what passed: $(grep 'random stacks,' "$log")"
}

# soak_crashes TEST
soak_crashes() {
  local started=$SECONDS log=$LOG_DIR/soak-$1.log
  if ! PLIMSOLL_CRASHES=1000 "build/bin/$1" --gtest_filter='*' >"$log" 2>&1; then
    note "$1 failed with PLIMSOLL_CRASHES=1000"
    die "$1 failed: $(reason_in "$log") (log: $log)"
  fi
  note "$1 passed with 1000 crashes in $((SECONDS - started)) s"
}

soak_all_fuzz() {
  local fuzzers name
  step "configure asan" cmake --preset asan
  mapfile -t fuzzers < <(fuzz_tests)
  ((${#fuzzers[@]} > 0)) || die "there is no fuzz test in this tree"
  for name in "${only[@]}"; do
    [[ " ${fuzzers[*]} " == *" $name "* ]] || die "there is no fuzz test $name; there are ${fuzzers[*]}"
  done
  ((${#only[@]} == 0)) || fuzzers=("${only[@]}")
  step "build fuzz tests" cmake --build build-asan --target "${fuzzers[@]}"
  for name in "${fuzzers[@]}"; do
    soak_fuzz "$name"
  done
}

soak_all_stacks() {
  step "build fuzz_random_stacks_test" cmake --build build --target fuzz_random_stacks_test
  soak_stacks build-asan 0
  soak_stacks build 50
}

soak_all_crashes() {
  local sweep
  for sweep in crash_test daemon_crash_test; do
    has_target build "$sweep" || die "there is no test program $sweep in this tree"
    step "build $sweep" cmake --build build --target "$sweep"
    soak_crashes "$sweep"
  done
}

scripts/install.sh
step "configure release" cmake --preset release
[[ ! $with_fuzz ]] || soak_all_fuzz
((${#only[@]} == 0)) || exit 0
[[ ! $with_fuzz ]] || soak_all_stacks
[[ ! $with_crashes ]] || soak_all_crashes
