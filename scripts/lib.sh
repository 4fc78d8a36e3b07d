# What the scripts share: one place that runs a long command, shows its progress and says in one line why it failed.
# Sourced by the scripts beside it, which run with `set -euo pipefail`; sourcing changes to the repository's root.
# shellcheck shell=bash

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

LOG_DIR=$PWD/build/logs
export CTEST_OUTPUT_ON_FAILURE=1
if [[ -z ${PLIMSOLL_CORPUS:-} && -d ../shared/corpus ]]; then
  PLIMSOLL_CORPUS=$(cd ../shared/corpus && pwd)
  export PLIMSOLL_CORPUS
fi

# die MESSAGE: one line on standard error, and the end.
die() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  exit 1
}

# The line of a log that says best why a command failed: a summary ("error: ..."), the first error of a compiler, CMake
# or apt, else the last line.
reason_in() {
  local line
  line=$(grep -m1 '^error: ' "$1" || true)
  [[ -n $line ]] || line=$(grep -m1 -E '(^|[ :])(fatal error|error|CMake Error|E|FAILED)[: ]' "$1" || true)
  [[ -n $line ]] || line=$(grep -v '^[[:space:]]*$' "$1" | tail -n1 || true)
  printf '%s' "${line:-it printed nothing}" | tr -s '[:space:]' ' ' | cut -c1-300
}

# step NAME COMMAND...: runs the command; its output goes to the terminal and to build/logs/NAME.log.
step() {
  local name=$1 log started=$SECONDS
  shift
  mkdir -p "$LOG_DIR"
  log=$LOG_DIR/${name//[^A-Za-z0-9]/-}.log
  printf '==> %s\n' "$name"
  if ! "$@" 2>&1 | tee "$log"; then
    die "$name failed after $((SECONDS - started)) s: $(reason_in "$log") (log: $log)"
  fi
  printf '==> %s: %d s\n' "$name" $((SECONDS - started))
}

# build PRESET [TARGET...]: configures and builds.
build() {
  local preset=$1 folder=build targets=()
  shift
  (($# == 0)) || targets=(--target "$@")
  [[ $preset == release ]] || folder=build-$preset
  step "configure $preset" cmake --preset "$preset"
  step "build $preset" cmake --build "$folder" "${targets[@]}"
}

# run_tests STAGE FOLDER CTEST-ARGUMENTS...: runs ctest and keeps its results for summarize. Failing tests do not end the
# script: the summary counts them. A ctest that could not run does.
run_tests() {
  local stage=$1 folder=$2 started=$SECONDS results log
  shift 2
  mkdir -p "$LOG_DIR"
  results=$RESULTS_DIR/$stage.xml
  log=$LOG_DIR/$stage.log
  printf '==> test %s\n' "$stage"
  ctest --test-dir "$folder" --output-junit "$results" --no-tests=ignore --timeout 600 "$@" 2>&1 | tee "$log" || true
  if [[ ! -s $results ]] && ! grep -q 'No tests were found' "$log"; then
    die "test $stage did not run: $(reason_in "$log") (log: $log)"
  fi
  printf '==> test %s: %d s\n' "$stage" $((SECONDS - started))
}

# run_failed_alone STAGE FOLDER: runs what failed in a stage of run_tests once more, one test at a time. For tests of whole programs: they
# measure what others that run beside them change. Both results are kept; what only failed beside others is named by summarize. More than
# ten have another reason.
run_failed_alone() {
  local stage=$1 folder=$2 failed
  failed=$(grep -c '<failure' "$RESULTS_DIR/$stage.xml" || true)
  ((failed == 0 || failed > 10)) || run_tests "$stage-alone" "$folder" --rerun-failed
}

# seconds_left: until DEADLINE, a time in seconds since 1970; a day where it is not set.
seconds_left() {
  printf '%d' $((${DEADLINE:-$(($(date +%s) + 86400))} - $(date +%s)))
}

# build_group PRESET GROUP: configures, and builds the test programs of a group (tests/CMakeLists.txt), as many as there is time for
# before DEADLINE. The last of the list, fuzz tests, come first.
build_group() {
  step "configure $1" cmake --preset "$1"
  step "build $1" build_before_deadline "build-$1" "$2"
}

build_before_deadline() {
  local folder=$1 group=$2 programs first left status
  mapfile -t programs < <(tac "$folder/$group.txt")
  # Eight at a time: what ninja has not linked when its time is up is of no use, and it links nearly all at the end of a build.
  for ((first = 0; first < ${#programs[@]}; first += 8)); do
    left=$(seconds_left)
    if ((left <= 0)); then
      printf 'no time is left to build %d programs of %s\n' $((${#programs[@]} - first)) "$group"
      return
    fi
    status=0
    timeout --signal=INT "$left" cmake --build "$folder" --target "${programs[@]:first:8}" || status=$?
    # timeout exits so where the time was up.
    ((status == 0 || status == 124)) || return "$status"
  done
}

# run_part STAGE FOLDER PROGRAM PART PARTS: one of the parts of a test program. Prints its output only where it failed. What there was no
# time for, to build or to run, is a skipped test.
run_part() {
  local name=$1-$3-$4 results log limit=900 left status=0 is_left_out=
  results=$RESULTS_DIR/$name.xml
  log=$LOG_DIR/$name.log
  rm -f "$results" "${results%.xml}-exit.xml"
  left=$(seconds_left)
  ((left >= limit)) || limit=$left
  if ((limit > 0)) && [[ -x $2/bin/$3 ]]; then
    GTEST_TOTAL_SHARDS=$5 GTEST_SHARD_INDEX=$4 timeout "$limit" "$2/bin/$3" --gtest_output="xml:$results" >"$log" 2>&1 || status=$?
    ((status != 0)) || return 0
  fi
  # A build that failed ends the stage before: what is not there was left out by the limit of the build.
  [[ -z ${DEADLINE:-} || -x $2/bin/$3 ]] || is_left_out=yes
  ((limit == 900 || (status != 0 && status != 124))) || is_left_out=yes
  if [[ $is_left_out ]]; then
    printf '<testsuite><testcase name="%s" status="notrun"><skipped message="no time was left"/></testcase></testsuite>\n' \
      "$1 $3, part $4" >"$results"
    return 0
  fi
  if ((status == 0)); then
    printf '%s/bin/%s has not been built\n' "$2" "$3" >"$log"
  fi
  cat "$log"
  # Its own results do not say so where it crashed or hung, which leaves none, or failed after them: leaks are reported at exit.
  grep -q '<failure' "$results" 2>/dev/null ||
    printf '<testsuite><testcase name="%s" status="failed at exit"/></testsuite>\n' "$3" >"${results%.xml}-exit.xml"
}

# run_programs STAGE FOLDER GROUP: runs the test programs of a group (tests/CMakeLists.txt), each in as many parts as there are
# processors, and keeps the results for summarize. ctest would start a process for each test, which takes a tenth of a second with
# a sanitizer.
run_programs() {
  local stage=$1 folder=$2 group=$3 started=$SECONDS parts program part
  parts=$(nproc)
  mkdir -p "$LOG_DIR" "$RESULTS_DIR"
  printf '==> test %s\n' "$stage"
  [[ -s $folder/$group.txt ]] || die "test $stage did not run: $folder/$group.txt names no program"
  export -f run_part seconds_left
  export RESULTS_DIR LOG_DIR DEADLINE=${DEADLINE:-}
  # The longest, fuzz tests, stand last there. They come first, so that no processor waits for one in the end.
  # shellcheck disable=SC2016  # expanded by the inner shell
  tac "$folder/$group.txt" | while read -r program; do
    for ((part = 0; part < parts; ++part)); do
      printf '%s %s %s %s %s\n' "$stage" "$folder" "$program" "$part" "$parts"
    done
  done | xargs -P"$parts" -L1 bash -c 'run_part "$@"' _
  printf '==> test %s: %d s\n' "$stage" $((SECONDS - started))
}

# summarize RESULTS...: prints "N passed, N failed, N skipped" over JUnit files of ctest and of GoogleTest, after the names of what
# failed, of what there was no time for (run_part), and of what failed beside other tests alone (run_failed_alone), which counts as
# passed. Fails unless something passed and nothing failed.
summarize() {
  python3 - "$@" <<'PYTHON'
import collections
import os
import sys
import xml.etree.ElementTree as xml


def outcome_of(case):
    status = case.get("status")
    skipped = case.find("skipped")
    if case.find("failure") is not None:
        return "failed"
    if skipped is not None or status in ("notrun", "disabled"):
        message = skipped.get("message", "").lower() if skipped is not None else ""
        # A program that is missing or crashes on start is no skipped test.
        if "not found" in message or "unable" in message:
            return "failed"
        return "left out" if message == "no time was left" else "skipped"
    return "passed" if status == "run" else "failed"


def cases_of(path):
    return [(case.get("name"), outcome_of(case)) for case in xml.parse(path).getroot().iter("testcase")]


paths = [path for path in sys.argv[1:] if not path.endswith("-alone.xml")]
counts = collections.Counter(passed=0, failed=0, skipped=0)
for path in paths:
    alone_path = path.removesuffix(".xml") + "-alone.xml"
    alone = dict(cases_of(alone_path)) if os.path.exists(alone_path) else {}
    for name, outcome in cases_of(path):
        if outcome == "failed" and alone.get(name) == "passed":
            print(f"failed beside other tests, passed alone: {name} ({path})")
            outcome = "passed"
        elif outcome == "failed":
            print(f"failed: {name} ({path})")
        elif outcome == "left out":
            print(f"no time was left: {name}")
            outcome = "skipped"
        counts[outcome] += 1
print(", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
sys.exit(0 if counts["failed"] == 0 and counts["passed"] > 0 else 1)
PYTHON
}
