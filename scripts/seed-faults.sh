#!/usr/bin/env bash
# Shows that .ci/run still catches mistakes: clones HEAD below build/seeded, makes one mistake there at a time, and runs that part of
# .ci/run which has to find it. Prints a line for each, and fails where one goes unnoticed. --only NAME, which may be repeated,
# makes those alone. Takes 20 min with a warm compiler cache.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

only=()
while (($#)); do
  case $1 in
    --only)
      [[ ${2:-} ]] || die "--only requires the name of a mistake"
      only+=("$2")
      shift 2
      ;;
    *) die "unknown argument $1; there is --only NAME" ;;
  esac
done

CLONE=$PWD/build/seeded
SEED_LOG=$PWD/build/logs/seed-faults.log
mkdir -p "$PWD/build/logs"
: >"$SEED_LOG"
rm -rf "$CLONE"
git clone --quiet . "$CLONE"
trap 'rm -rf "$CLONE"' EXIT
unnoticed=()

# in_clone COMMAND...: its output goes to the log.
in_clone() {
  (cd "$CLONE" && "$@") >>"$SEED_LOG" 2>&1
}

# passes PRESET PROGRAM: whether the test program is built and passes, run as .ci/run runs it.
passes() {
  local folder=build
  [[ $1 == release ]] || folder=build-$1
  in_clone cmake --preset "$1" || die "configuring $1 failed (log: $SEED_LOG)"
  in_clone cmake --build "$folder" --target "$2" || die "$2 does not compile with its mistake (log: $SEED_LOG)"
  # shellcheck disable=SC2016  # expanded by the inner shell
  in_clone env ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 RESULTS_DIR="$CLONE/build/results" bash -c '
    source scripts/lib.sh
    mkdir -p "$RESULTS_DIR" "$LOG_DIR"
    rm -f "$RESULTS_DIR"/*.xml
    run_part seeded "$1" "$2" 0 1
    summarize "$RESULTS_DIR"/*.xml' _ "$folder" "$2"
}

# seed NAME FILE SED-EXPRESSION CHECK...: makes the mistake, and notes whether CHECK fails.
seed() {
  local name=$1 file=$2 change=$3 started=$SECONDS outcome
  shift 3
  ((${#only[@]} == 0)) || [[ " ${only[*]} " == *" $name "* ]] || return 0
  printf '=== %s\n' "$name" >>"$SEED_LOG"
  sed -i "$change" "$CLONE/$file"
  ! git -C "$CLONE" diff --quiet || die "$name: \"$change\" changes nothing in $file; give another change"
  if "$@"; then
    outcome="NOT NOTICED"
    unnoticed+=("$name")
  else
    outcome=caught
  fi
  git -C "$CLONE" checkout --quiet .
  printf '%-28s %-34s %-11s %3d s\n' "$name" "$file" "$outcome" $((SECONDS - started))
}

# Results.
seed lost-hits store/segments/segment_merge.cc 's/sum_.hits += row.hits;/sum_.hits = row.hits;/' passes release store_test
seed wrong-quantile statistics/student_t.cc 's/= m \* (b - m) \* x/= m * (b + m) * x/' passes release statistics_test
seed open-door server/access/authenticator.cc 's/if (!permits(caller.role, route.right)) {/if (false) {/' passes release access_test
seed wrong-call-site capture/unwind/walker.cc 's/cfa - 2 \* kWord/cfa - 3 * kWord/' passes release unwind_test
seed lost-merge store/compaction/compactor.cc 's/if (is_damage(segment.error()))/if (!is_damage(segment.error()))/; s/} else if (is_damage(/} else if (!is_damage(/' \
  passes release store_test
# Memory and threads.
seed read-past-the-end base/byte_reader.h 's/if (!ok_ || size > remaining()) {/if (!ok_ || size > remaining() + 1) {/' \
  passes asan fuzz_perf_records_test
seed shift-too-far base/byte_reader.h 's/if (shift >= 64) {/if (shift >= 77) {/' passes asan fuzz_cfi_test
seed leak http/client.cc 's/curl_slist_free_all(list);/(void)list;/' passes asan http_test
seed race http/worker_threads.cc '/^void WorkerThreads::add/,/^}/ s/const std::lock_guard lock(mutex_);//' passes tsan http_test
# What no test runs.
seed forbidden-include query/views/top.cc '1 s|^|#include "server/server.h"\n|' \
  in_clone bash -c 'cmake --preset release && cmake --build build --target query_views_includes'
seed layout query/views/top.cc 's/^  const MachineSample/      const MachineSample/; s/^    const MachineSample/      const MachineSample/' \
  in_clone scripts/check-format.sh
seed riddle server/access_api.cc 's/the machine is missing/no\x62ody says which machine/' in_clone scripts/check-words.sh
seed unchecked-optional query/views/top.cc '$ s|^|namespace plimsoll::query {\nint first_of(std::optional<int> number) {\n  return *number;\n}\n}\n|' \
  in_clone scripts/check-tidy.sh '^query/views/top.cc$'

if ((${#unnoticed[@]})); then
  die "not noticed: ${unnoticed[*]} (log: $SEED_LOG)"
fi
