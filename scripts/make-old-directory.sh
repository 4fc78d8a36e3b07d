#!/usr/bin/env bash
# Writes a data directory with the last program that knew no blocks (commit 227f51fc, format 6), asks that program
# questions about it, and packs the directory with the answers. build/bin/old_directory_test upgrades the directory with
# today's program and compares the answers.
#
#   scripts/make-old-directory.sh [FILE]     FILE: tests/data/old_directory_6.tar.xz unless said
#
# The program is built in a worktree of its own, which is removed in the end. Half of the profiles are uploaded to its
# server on loopback, half are imported.
set -euo pipefail
output=$(realpath -m -- "${1:-$(dirname "${BASH_SOURCE[0]}")/../tests/data/old_directory_6.tar.xz}")
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

COMMIT=227f51fc
FORMAT=6
MAX_BYTES=200000
for program in curl git tar xz; do
  command -v "$program" >/dev/null || die "$program is missing: run scripts/install.sh --tests"
done
git rev-parse --verify --quiet "$COMMIT^{commit}" >/dev/null ||
  die "this clone has no commit $COMMIT: fetch the whole history (git fetch --unshallow)"

work=$(mktemp -d)
tree=$work/tree
packed=$work/packed
data=$packed/data
old=$tree/build/bin/plimsoll
server=
clean_up() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  git worktree remove --force "$tree" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT

build_old() {
  git worktree add --quiet --detach "$tree" "$COMMIT"
  cp tests/data/old_directory/write_profiles.cc "$tree/tests/e2e/"
  printf 'plimsoll_program(write_profiles SOURCES write_profiles.cc DEPENDS base proto tests)\n' \
    >>"$tree/tests/e2e/CMakeLists.txt"
  step "configure $COMMIT" env --chdir="$tree" --unset=PLIMSOLL_CORPUS cmake --preset release
  step "build $COMMIT" cmake --build "$tree/build" --target plimsoll write_profiles
}

# wait_until_ready ADDRESS
wait_until_ready() {
  local tried
  for ((tried = 0; tried < 300; ++tried)); do
    ! curl --silent --fail --output /dev/null "http://$1/readyz" || return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  die "the old server is not ready: $(reason_in "$work/server.log")"
}

# upload FILE...: through a server, which makes the databases of the fleet, of draws and of access too.
upload() {
  local people=127.0.0.1:$((20000 + RANDOM % 5000)) daemons=127.0.0.1:$((25000 + RANDOM % 5000)) file
  "$old" server --data "$data" --listen "$people" --fleet-listen "$daemons" >"$work/server.log" 2>&1 &
  server=$!
  wait_until_ready "$people"
  for file in "$@"; do
    curl --silent --show-error --fail --output /dev/null --header 'Content-Type: application/x-protobuf' \
      --header 'Expect:' --upload-file "$file" "http://$daemons/fleet/v1/profiles/$(basename "$file")" ||
      die "the old server refused a profile: $(reason_in "$work/server.log")"
  done
  kill "$server"
  wait "$server" || die "the old server failed: $(reason_in "$work/server.log")"
  server=
}

# What was uploaded and is no rows yet becomes rows here, too.
write_directory() {
  local profiles half
  "$tree/build/bin/write_profiles" "$work/profiles"
  profiles=("$work"/profiles/*)
  half=$((${#profiles[@]} / 2))
  mkdir "$work/no-symbols"
  upload "${profiles[@]:0:half}"
  step "import profiles" "$old" import --data "$data" --symbol-root "$work/no-symbols" \
    --debug-root "$work/no-symbols" "${profiles[@]:half}"
  [[ $(<"$data/FORMAT") == "$FORMAT" ]] || die "the directory has format $(<"$data/FORMAT"), not $FORMAT"
}

# ask NAME ARGUMENT...: keeps the arguments, a line each, and the answer.
ask() {
  local name=$1
  shift
  printf '%s\n' "$@" >"$packed/answers/$name.arguments"
  "$old" "$@" --data "$data" >"$packed/answers/$name.answer" || die "the old program did not answer: plimsoll $*"
}

ask_all() {
  local top=(top --json --no-margins --limit 1000)
  ask functions "${top[@]}"
  ask lines "${top[@]}" --by function,file,line
  ask threads "${top[@]}" --by job,app,thread
  ask machines "${top[@]}" --by machine,platform,kernel,cluster
  ask binaries "${top[@]}" --by binary
  ask stacks "${top[@]}" --by stack
  ask page-faults "${top[@]}" --event page-faults
  ask branches "${top[@]}" --event branch-records
  ask an-hour "${top[@]}" --since 2023-11-15T00:00:00Z --until 2023-11-15T01:00:00Z
  ask a-job "${top[@]}" --where job=web --where thread=io
  ask a-draw "${top[@]}" --where draw=nightly
  ask a-library "${top[@]}" --where binary=libold.so.1
  ask ratio "${top[@]}" --ratio instructions/cycles --by job
  ask callers callers lex --json --no-margins
  ask callees callees serve --json --no-margins
  ask series series --json --bucket 1h --by job
  ask diff diff --json --no-margins --limit 1000 --base-where job=web --new-where job=db
  ask flame flame --folded
  ask rows sql --csv "SELECT event, machine, draw, job, app, thread, stack, from_time, sum(hits), sum(value), sum(samples) FROM samples GROUP BY 1, 2, 3, 4, 5, 6, 7, 8"
  ask totals sql --csv "SELECT event, machine, from_time, hits, value, samples, lost, scale FROM totals"
}

build_old
mkdir -p "$packed/answers"
write_directory
ask_all
git rev-parse "$COMMIT" >"$packed/COMMIT"
tar --create --xz --file "$output" --directory "$packed" --sort=name --owner=0 --group=0 --numeric-owner COMMIT answers data
size=$(stat --format %s "$output")
((size <= MAX_BYTES)) || die "$output has $size bytes, more than $MAX_BYTES"
printf '%s: %s bytes, %s answers\n' "$output" "$size" "$(find "$packed/answers" -name '*.answer' | wc -l)"
