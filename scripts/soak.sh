#!/usr/bin/env bash
# Long runs, for a night or a release: each fuzz test with seeds that no short run reaches, under AddressSanitizer; ten million
# random stacks unwound, once under AddressSanitizer and once against the clock; ten thousand damaged binaries made into symbol
# tables, and as many sent to a server; a million random operations on data directories, five minutes of writers and readers of one, and its bits flipped; the sweeps that kill the
# server, the daemon and what merges segments at random moments, a thousand times, and the one that stops the store at every change of
# its files; 500 builds that three workers name while one of them dies each second; 100,000 random addresses of each of many
# binaries, looked up by us and by llvm-symbolizer; 200 times SIGKILL for a server or the ClickHouse that has its rows; a server with an address space of 2 GiB under everything hostile at once, and each
# fuzz test with a limit of memory; programs that profile themselves under forks, signals and much else for ten minutes each; and the checks that .ci/run leaves out: computing tests under AddressSanitizer, clang-tidy over all
# sources. --minutes N is how long each fuzz test runs (10 unless said), and the server is under attack (30 unless said); --fuzz-only,
# --store-only, --crashes-only, --clickhouse-only, --symbols-only, --hostile-only, --appprof-only and --checks-only leave out all else, and --only NAME, which may be
# repeated, all but that test (a fuzz test, or one of those of the part that is left).
# Prints one dated line for each run, which build/logs/soak.txt keeps.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

minutes=
parts=(fuzz store crashes clickhouse symbols hostile appprof checks)
only=()
while (($#)); do
  case $1 in
    --minutes)
      [[ ${2:-} =~ ^[0-9]+$ ]] || die "--minutes requires a number"
      minutes=$2
      shift 2
      ;;
    --fuzz-only | --store-only | --crashes-only | --clickhouse-only | --symbols-only | --hostile-only | --appprof-only | --checks-only)
      part=${1#--}
      parts=("${part%-only}")
      shift
      ;;
    --only)
      [[ ${2:-} ]] || die "--only requires the name of a test"
      only+=("$2")
      shift 2
      ;;
    *) die "unknown argument $1; there are --minutes N, --fuzz-only, --store-only, --crashes-only, --clickhouse-only, --symbols-only, --hostile-only, --appprof-only, --checks-only and --only NAME" ;;
  esac
done

fuzz_minutes=${minutes:-10}
hostile_minutes=${minutes:-30}

# has_part NAME
has_part() {
  [[ " ${parts[*]} " == *" $1 "* ]]
}

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

# fuzz_tests FOLDER: the names of the programs that tests/fuzz builds there.
fuzz_tests() {
  local targets
  targets=$(cmake --build "$1" --target help)
  sed -nE 's/^(fuzz_[a-z0-9_]+_test):.*/\1/p' <<<"$targets" | sort -u
}

# is_wanted TEST: whether --only leaves it.
is_wanted() {
  ((${#only[@]} == 0)) || [[ " ${only[*]} " == *" $1 "* ]]
}

# soak_fuzz NAME
soak_fuzz() {
  local deadline=$((SECONDS + fuzz_minutes * 60)) first seed log=$LOG_DIR/soak-$1.log
  first=$(date +%s)
  seed=$first
  while ((SECONDS < deadline)); do
    if ! PLIMSOLL_TEST_FUZZ_SEED=$seed "build-asan/bin/$1" --gtest_filter='*' >"$log" 2>&1; then
      note "$1 failed with PLIMSOLL_TEST_FUZZ_SEED=$seed"
      die "$1 failed with PLIMSOLL_TEST_FUZZ_SEED=$seed: $(reason_in "$log") (log: $log)"
    fi
    seed=$((seed + 1))
  done
  note "$1 passed with $((seed - first)) seeds from $first on, in $fuzz_minutes min"
}

# soak_stacks BUILD_FOLDER MAX_US: 0 for any time.
soak_stacks() {
  local log=$LOG_DIR/soak-stacks.log what="random stacks in $1"
  if ! PLIMSOLL_TEST_RANDOM_STACKS=10000000 PLIMSOLL_TEST_MAX_US_PER_STACK=$2 PLIMSOLL_TEST_FUZZ_SEED=$(date +%s) \
    "$1/bin/fuzz_random_stacks_test" --gtest_filter='*' >"$log" 2>&1; then
    note "$what failed: $(grep 'random stacks,' "$log" || true)"
    die "$what failed: $(reason_in "$log") (log: $log)"
  fi
  note "$what passed: $(grep 'random stacks,' "$log")"
}

# soak_tables TEST, in a release build: there the process that parses has all its limits.
soak_tables() {
  local log=$LOG_DIR/soak-tables-$1.log seed
  seed=$(date +%s)
  if ! PLIMSOLL_TEST_FUZZ_TABLES=10000 PLIMSOLL_TEST_FUZZ_SEED=$seed \
    "build/bin/$1" --gtest_filter='*' >"$log" 2>&1; then
    note "$1: symbol tables of damaged files failed with PLIMSOLL_TEST_FUZZ_SEED=$seed"
    die "$1: symbol tables of damaged files failed with PLIMSOLL_TEST_FUZZ_SEED=$seed: $(reason_in "$log") (log: $log)"
  fi
  note "$1: symbol tables of 10000 damaged files passed with seed $seed"
  if ! PLIMSOLL_TEST_FUZZ_TABLES=5000 PLIMSOLL_TEST_FUZZ_SEED=$seed \
    build/bin/fuzz_annotate_test --gtest_filter='*' >"$log" 2>&1; then
    note "annotated code of damaged files failed with PLIMSOLL_TEST_FUZZ_SEED=$seed"
    die "annotated code of damaged files failed with PLIMSOLL_TEST_FUZZ_SEED=$seed: $(reason_in "$log") (log: $log)"
  fi
  note "annotated code of 5000 damaged files passed with seed $seed"
}

# Ten thousand damaged binaries sent to a server, kept, and read by its processes.
soak_hostile_binaries() {
  local log=$LOG_DIR/soak-hostile-binaries.log seed
  seed=$(date +%s)
  if ! PLIMSOLL_TEST_FUZZ_TABLES=10000 PLIMSOLL_TEST_FUZZ_SEED=$seed build/bin/hostile_binaries_test --gtest_filter='*' >"$log" 2>&1; then
    note "hostile_binaries_test failed with PLIMSOLL_TEST_FUZZ_SEED=$seed"
    die "hostile_binaries_test failed with PLIMSOLL_TEST_FUZZ_SEED=$seed: $(reason_in "$log") (log: $log)"
  fi
  note "hostile_binaries_test passed with seed $seed: $(sed -n 's/^hostile binaries: //p' "$log")"
}

# A million random operations, with answers that are compared with a model's. In memory: there are half a million commits.
soak_operations() {
  local log=$LOG_DIR/soak-operations.log seed
  seed=$(date +%s)
  if ! TEST_TMPDIR=/dev/shm PLIMSOLL_TEST_OPERATIONS=1000000 PLIMSOLL_TEST_FUZZ_SEED=$seed \
    build/bin/fuzz_operations_test --gtest_filter='*' >"$log" 2>&1; then
    note "store operations failed with PLIMSOLL_TEST_FUZZ_SEED=$seed"
    die "store operations failed with PLIMSOLL_TEST_FUZZ_SEED=$seed: $(reason_in "$log") (log: $log)"
  fi
  note "store operations passed with seed $seed: $(grep ' operations: ' "$log")"
}

# Four writers and sixteen readers while segments are merged.
soak_storm() {
  local log=$LOG_DIR/soak-storm.log
  if ! PLIMSOLL_TEST_STORM_SECONDS=300 build/bin/store_storm_test --gtest_filter='*' >"$log" 2>&1; then
    note "store_storm_test failed"
    die "store_storm_test failed: $(reason_in "$log") (log: $log)"
  fi
  note "store_storm_test passed in 300 s: $(grep ' snapshots' "$log")"
}

# Flipped bits of a small data directory: all of a segment, and ten thousand of each database.
soak_flips() {
  local log=$LOG_DIR/soak-flips.log
  if ! PLIMSOLL_TEST_FLIPS=10000 build/bin/store_care_test --gtest_filter='*EveryBitFlip*' >"$log" 2>&1; then
    note "store_care_test failed with PLIMSOLL_TEST_FLIPS=10000"
    die "store_care_test failed: $(reason_in "$log") (log: $log)"
  fi
  note "store_care_test passed with 10000 flipped bits of each database, and all of a segment"
}

# Every bit of a block's catalogue, one at a time, by four tests beside each other. PLIMSOLL_TEST_FLIP_BITS=1 flips one
# bit of each byte, in an eighth of the time.
soak_catalogue_flips() {
  local started=$SECONDS bits=${PLIMSOLL_TEST_FLIP_BITS:-8} share failed=() running=()
  for share in 0 1 2 3; do
    PLIMSOLL_TEST_FLIP_STEP=1 PLIMSOLL_TEST_FLIP_BITS=$bits build/bin/catalogue_flips_test \
      --gtest_filter="*/$share" >"$LOG_DIR/soak-catalogue-flips-$share.log" 2>&1 &
    running+=($!)
  done
  for share in 0 1 2 3; do
    wait "${running[$share]}" || failed+=("$LOG_DIR/soak-catalogue-flips-$share.log")
  done
  if ((${#failed[@]} > 0)); then
    note "catalogue_flips_test failed with PLIMSOLL_TEST_FLIP_STEP=1 PLIMSOLL_TEST_FLIP_BITS=$bits"
    die "catalogue_flips_test failed: $(reason_in "${failed[0]}") (log: ${failed[0]})"
  fi
  note "catalogue_flips_test passed with $bits bits of every byte of a block's catalogue in $((SECONDS - started)) s: $(grep -h '^flips of a catalogue' "$LOG_DIR"/soak-catalogue-flips-?.log | paste -sd ';')"
}

# Half a million processes that live for a moment.
soak_exec_storm() {
  local log=$LOG_DIR/soak-exec-storm.log
  if ! PLIMSOLL_TEST_EXEC_STORM_SECONDS=30 build/bin/storm_test --gtest_filter='Storm.LeavesNoSampleUnderAnotherProgram' >"$log" 2>&1; then
    note "storm_test failed"
    die "storm_test failed: $(reason_in "$log") (log: $log)"
  fi
  note "storm_test passed in 30 s: $(grep ' produced' "$log")"
}

# Twenty recordings of perf beside the daemon.
soak_other_recorders() {
  local log=$LOG_DIR/soak-other-recorders.log
  if ! PLIMSOLL_TEST_RECORDINGS=20 build/bin/other_recorders_test >"$log" 2>&1; then
    note "other_recorders_test failed"
    die "other_recorders_test failed: $(reason_in "$log") (log: $log)"
  fi
  note "other_recorders_test passed: $(grep ' beside the daemon' "$log")"
}

# soak_crashes TEST
soak_crashes() {
  local started=$SECONDS log=$LOG_DIR/soak-$1.log
  if ! PLIMSOLL_TEST_CRASHES=1000 "build/bin/$1" --gtest_filter='*' >"$log" 2>&1; then
    note "$1 failed with PLIMSOLL_TEST_CRASHES=1000"
    die "$1 failed: $(reason_in "$log") (log: $log)"
  fi
  note "$1 passed with 1000 crashes in $((SECONDS - started)) s"
}

# Every state after a crash; and a disk that fails at every operation of each phase, for each of nine kinds of failure.
# The second costs nine runs for each operation, each a process and a check of what it leaves: how many there were, and
# how long they took, is in the line that this prints. PLIMSOLL_TEST_LIVE_RUNS=200 draws 200 operations of each phase for
# each kind instead; PLIMSOLL_TEST_PHASE=NAME limits both to the phases whose names begin so.
soak_crash_sweep() {
  local started=$SECONDS log=$LOG_DIR/soak-crash-sweep.log seed
  seed=$(date +%s)
  if ! PLIMSOLL_TEST_ONE_OF=1 PLIMSOLL_TEST_POWER_SEEDS=4 PLIMSOLL_TEST_LIVE_RUNS=${PLIMSOLL_TEST_LIVE_RUNS:-0} PLIMSOLL_TEST_FUZZ_SEED=$seed \
    build/bin/crash_sweep_test --gtest_filter='*' >"$log" 2>&1; then
    note "crash_sweep_test failed with PLIMSOLL_TEST_FUZZ_SEED=$seed"
    die "crash_sweep_test failed: $(reason_in "$log") (log: $log)"
  fi
  note "crash_sweep_test passed with seed $seed in $((SECONDS - started)) s: $(sed -nE 's/^(crash sweep|failing disk): //p' "$log" | paste -sd ';')"
}

soak_all_fuzz() {
  local fuzzers name
  step "configure asan" cmake --preset asan
  mapfile -t fuzzers < <(fuzz_tests build-asan)
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

soak_all_tables() {
  step "build fuzz_dwarf_test" cmake --build build --target fuzz_dwarf_test fuzz_libdw_test
  soak_tables fuzz_dwarf_test
  soak_tables fuzz_libdw_test
  step "build hostile_binaries_test" cmake --build build --target hostile_binaries_test
  soak_hostile_binaries
  step "build fuzz_annotate_test" cmake --build build --target fuzz_annotate_test
}

soak_all_store() {
  step "build store tests" cmake --build build --target fuzz_operations_test store_storm_test store_care_test catalogue_flips_test storm_test other_recorders_test
  ! is_wanted fuzz_operations_test || soak_operations
  ! is_wanted store_storm_test || soak_storm
  ! is_wanted store_care_test || soak_flips
  ! is_wanted catalogue_flips_test || soak_catalogue_flips
  ! is_wanted storm_test || soak_exec_storm
  ! is_wanted other_recorders_test || soak_other_recorders
}

soak_all_crashes() {
  local sweep
  for sweep in crash_test daemon_crash_test compaction_crash_test; do
    is_wanted "$sweep" || continue
    has_target build "$sweep" || die "there is no test program $sweep in this tree"
    step "build $sweep" cmake --build build --target "$sweep"
    soak_crashes "$sweep"
  done
  is_wanted crash_sweep_test || return 0
  step "build crash_sweep_test" cmake --build build --target crash_sweep_test
  soak_crash_sweep
}

# The server or ClickHouse killed 200 times in the middle of inserts, and a network that drops all packets; says why where there is no
# ClickHouse, or where there may be no network namespaces.
soak_all_clickhouse() {
  local started=$SECONDS log=$LOG_DIR/soak-clickhouse.log seed
  seed=$(date +%s)
  scripts/install.sh --scale
  step "build clickhouse_faults_test" cmake --build build --target clickhouse_faults_test
  if ! PLIMSOLL_TEST_CLICKHOUSE_KILLS=200 PLIMSOLL_TEST_FUZZ_SEED=$seed build/bin/clickhouse_faults_test --gtest_filter='*' >"$log" 2>&1; then
    note "clickhouse_faults_test failed with PLIMSOLL_TEST_FUZZ_SEED=$seed"
    die "clickhouse_faults_test failed with PLIMSOLL_TEST_FUZZ_SEED=$seed: $(reason_in "$log") (log: $log)"
  fi
  note "clickhouse_faults_test passed with seed $seed in $((SECONDS - started)) s: $(grep -E '^clickhouse faults: |no clickhouse-server|network namespaces' "$log" | sort -u | paste -sd ';')"
}

# symbol_lines LOG: notes its lines "NAME: 99.950 % of 100000 chains are equal: ...".
symbol_lines() {
  local line
  while read -r line; do
    note "symbols of $line"
  done < <(grep -E '^[a-z0-9_-]+: .* chains are equal' "$1")
}

# Each form of debug information of one program.
soak_symbol_variants() {
  local status=0 log=$LOG_DIR/soak-symbols.log
  PLIMSOLL_TEST_SYMBOL_ADDRESSES=100000 PLIMSOLL_TEST_SYMBOL_SEED=$1 build/bin/symbols_llvm_test >"$log" 2>&1 || status=$?
  symbol_lines "$log"
  if ((status != 0)); then
    note "symbols_llvm_test failed with PLIMSOLL_TEST_SYMBOL_SEED=$1"
    die "symbols_llvm_test failed with PLIMSOLL_TEST_SYMBOL_SEED=$1: $(reason_in "$log") (log: $log)"
  fi
}

# soak_symbols SEED NAME ARGUMENT...: what compare_symbols says of a binary.
soak_symbols() {
  local seed=$1 name=$2 status=0 log=$LOG_DIR/soak-symbols-$2.log
  shift 2
  build/bin/compare_symbols --name "$name" --addresses 100000 --seed "$seed" "$@" >"$log" 2>&1 || status=$?
  symbol_lines "$log"
  if ((status != 0)); then
    note "symbols of $name failed with seed $seed"
    die "symbols of $name failed with seed $seed: $(reason_in "$log") (log: $log)"
  fi
}

# debug_file_of FOLDER BINARY
debug_file_of() {
  local build_id
  build_id=$(readelf --notes --wide "$2" | sed -nE 's/.*Build ID: ([0-9a-f]+).*/\1/p')
  printf '%s/usr/lib/debug/.build-id/%s/%s.debug' "$1" "${build_id:0:2}" "${build_id:2}"
}

# Lines of Debian's kernel modules; says why where none is unpacked.
soak_kernel_modules() {
  local log=$LOG_DIR/soak-kernel-modules.log
  if ! PLIMSOLL_TEST_SYMBOL_ADDRESSES=100000 PLIMSOLL_TEST_SYMBOL_SEED=$1 build/bin/kernel_modules_test >"$log" 2>&1; then
    note "kernel_modules_test failed with PLIMSOLL_TEST_SYMBOL_SEED=$1"
    die "kernel_modules_test failed with PLIMSOLL_TEST_SYMBOL_SEED=$1: $(reason_in "$log") (log: $log)"
  fi
  note "kernel_modules_test passed: $(grep -E 'no kernel module|lines are equal' "$log" | tail -1)"
}

# 500 builds, which three workers name while one of them dies each second; says why where there may be no network namespaces.
soak_workers() {
  local log=$LOG_DIR/soak-workers.log
  if ! PLIMSOLL_TEST_WORKER_BUILDS=500 build/bin/workers_test --gtest_filter='Workers.NameAllBuilds*' >"$log" 2>&1; then
    note "workers_test failed with 500 builds"
    die "workers_test failed with 500 builds: $(reason_in "$log") (log: $log)"
  fi
  note "workers_test passed: $(grep -E '^workers: |network namespaces' "$log" | tail -1)"
}

soak_all_symbols() {
  local packages=$PWD/build/bench-packages seed debug
  seed=$(date +%s)
  step "unpack packages" scripts/install.sh --bench-packages
  step "build symbols_llvm_test" cmake --build build --target symbols_llvm_test compare_symbols kernel_modules_test workers_test
  soak_workers
  soak_symbol_variants "$seed"
  soak_kernel_modules "$seed"
  soak_symbols "$seed" libstdcxx "$packages"/usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6
  debug=$(debug_file_of "$packages" "$packages/usr/bin/ceph-osd")
  soak_symbols "$seed" ceph-osd --debug "$debug" --ask "$debug" "$packages/usr/bin/ceph-osd"
}

# A server that may have 2 GiB, for any client that can reach it.
soak_hostile_day() {
  local log=$LOG_DIR/soak-hostile-day.log seed
  seed=$(date +%s)
  if ! PLIMSOLL_TEST_SOAK_SECONDS=$((hostile_minutes * 60)) PLIMSOLL_TEST_MAX_HEALTHZ_MS=1000 PLIMSOLL_TEST_FUZZ_SEED=$seed \
    timeout $((hostile_minutes * 60 + 1800)) build/bin/hostile_day_test --gtest_filter='*' >"$log" 2>&1; then
    note "hostile_day_test failed with PLIMSOLL_TEST_FUZZ_SEED=$seed: $(grep '^hostile day: ' "$log" || true)"
    die "hostile_day_test failed with PLIMSOLL_TEST_FUZZ_SEED=$seed: $(reason_in "$log") (log: $log)"
  fi
  note "hostile_day_test passed with seed $seed: $(sed -n 's/^hostile day: //p' "$log")"
}

# soak_limited NAME: a fuzz test whose address space is 1 GiB, so that what takes memory without a bound ends it. AddressSanitizer
# reserves terabytes, so it is the release build's.
soak_limited() {
  local log=$LOG_DIR/soak-limited-$1.log seed
  seed=$(date +%s)
  if ! (ulimit -v $((1024 * 1024)) && PLIMSOLL_TEST_FUZZ_SEED=$seed "build/bin/$1" --gtest_filter='*' >"$log" 2>&1); then
    note "$1 within 1 GiB failed with PLIMSOLL_TEST_FUZZ_SEED=$seed"
    die "$1 within 1 GiB failed with PLIMSOLL_TEST_FUZZ_SEED=$seed: $(reason_in "$log") (log: $log)"
  fi
}

soak_all_hostile() {
  local fuzzers name wanted=()
  mapfile -t fuzzers < <(fuzz_tests build)
  ((${#fuzzers[@]} > 0)) || die "there is no fuzz test in this tree"
  for name in "${fuzzers[@]}"; do
    ! is_wanted "$name" || wanted+=("$name")
  done
  if is_wanted hostile_day_test; then
    step "build hostile_day_test" cmake --build build --target hostile_day_test
    soak_hostile_day
  fi
  ((${#wanted[@]} > 0)) || return 0
  step "build fuzz tests" cmake --build build --target "${wanted[@]}"
  for name in "${wanted[@]}"; do
    soak_limited "$name"
  done
  note "${#wanted[@]} fuzz tests passed within 1 GiB each"
}

# Two hundred runs of known allocations and lock waits, and ten minutes of torture, linked and preloaded.
soak_all_appprof() {
  local log=$LOG_DIR/soak-appprof.log
  step "build appprof tests" cmake --build build --target appprof_accuracy_test appprof_torture_test
  if ! PLIMSOLL_TEST_APPPROF_RUNS=200 build/bin/appprof_accuracy_test >"$log" 2>&1 ||
    ! PLIMSOLL_TEST_APPPROF_SECONDS=600 build/bin/appprof_torture_test >>"$log" 2>&1; then
    note "appprof failed"
    die "appprof failed: $(reason_in "$log") (log: $log)"
  fi
  note "appprof passed: $(grep -E '^(forks|threads|fetches) ' "$log" | paste -sd ' ')"
}

# What .ci/run leaves out.
soak_all_checks() {
  local log=$LOG_DIR/soak-checks.log summary
  build asan pure_tests
  RESULTS_DIR=$PWD/build/results-soak
  rm -rf "$RESULTS_DIR"
  mkdir -p "$RESULTS_DIR"
  run_programs soak-asan build-asan pure_tests | tee "$log"
  summary=$(summarize "$RESULTS_DIR"/*.xml) || die "computing tests failed under AddressSanitizer: $summary (log: $log)"
  note "computing tests under AddressSanitizer: $summary"
  scripts/check-tidy.sh --all
  note "clang-tidy found nothing in any source"
}

scripts/install.sh --tests
step "configure release" cmake --preset release
! has_part fuzz || soak_all_fuzz
! has_part fuzz || ((${#only[@]} == 0)) || exit 0
! has_part fuzz || soak_all_stacks
! has_part fuzz || soak_all_tables
! has_part store || soak_all_store
! has_part crashes || soak_all_crashes
! has_part clickhouse || ! is_wanted clickhouse_faults_test || soak_all_clickhouse
! has_part symbols || soak_all_symbols
! has_part appprof || soak_all_appprof
! has_part hostile || soak_all_hostile
! has_part checks || soak_all_checks
