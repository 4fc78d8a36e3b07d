#!/usr/bin/env bash
# Measures what building takes from nothing: clones HEAD below build/measure, with an empty compiler cache of its own, and
# prints, as Markdown, the machine, the time of each stage, and what the time went into: by target, the dearest objects,
# links, and headers by how often and how dearly they are parsed. docs/development.md keeps the newest table.
#
#   scripts/measure-build.sh                 the demo, what else there is to build, one changed source, headers: 15 min
#   scripts/measure-build.sh --ci            also .ci/run, from nothing and once more: 75 min
#   scripts/measure-build.sh --only-ci       .ci/run alone: 60 min
#   scripts/measure-build.sh --every 1       parses every source for the table of headers, not each eighth
#   scripts/measure-build.sh --keep          leaves the clone there
#
# Run it on a machine at rest. Fails if the working tree differs from HEAD, which is what gets measured.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

every=8
with_ci=
only_ci=
keep=
while (($#)); do
  case $1 in
    --ci) with_ci=yes ;;
    --only-ci)
      with_ci=yes
      only_ci=yes
      ;;
    --keep) keep=yes ;;
    --every)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "--every requires a number above 0"
      every=$2
      shift
      ;;
    *) die "unknown argument $1; there are --ci, --only-ci, --every N and --keep" ;;
  esac
  shift
done
git diff --quiet HEAD || die "the working tree has changes that are not committed; commit or stash them first"

FOLDER=$PWD/build/measure
CLONE=$FOLDER/clone
SOURCE=query/views/top.cc
rm -rf "$FOLDER"
mkdir -p "$FOLDER"
[[ $keep ]] || trap 'rm -rf "$FOLDER"' EXIT
git clone --quiet . "$CLONE"
# Everything that could hold results of an earlier build.
export CCACHE_DIR=$FOLDER/ccache XDG_CACHE_HOME=$FOLDER/cache

# timed NAME COMMAND...: runs it in the clone and prints a row of the table.
timed() {
  local name=$1 log started=$SECONDS
  shift
  log=$FOLDER/${name//[^A-Za-z0-9]/-}.log
  (cd "$CLONE" && "$@") >"$log" 2>&1 || die "$name failed: $(reason_in "$log") (log: $log; keep it with --keep)"
  printf '| %s | %d s |\n' "$name" $((SECONDS - started))
}

# One source changes so that no cache knows it; then the test program with its unit tests is built and runs them.
change_and_test() {
  printf '\nnamespace plimsoll::query {\nstatic_assert(sizeof("%s") > 0);\n}\n' "$(date +%N)" >>"$SOURCE"
  cmake --build build --target query_test && build/bin/query_test --gtest_filter='Top*'
  git checkout --quiet "$SOURCE"
}

# The stages that .ci/run names, as rows.
ci_stages() {
  sed -nE 's/^=== ([a-z ]+): ([0-9]+) s, .*/| - of which \1 | \2 s |/p' "$FOLDER/$1.log"
}

processor=$(sed -nE 's/^model name\s*: //p' /proc/cpuinfo | head -n1)
printf '%s, %s processors (%s), %s, load %s before\n\n' "$(date -u +%Y-%m-%d)" "$(nproc)" "$processor" \
  "$(g++ --version | head -n1)" "$(cut -d' ' -f1 /proc/loadavg)"
printf '| stage | takes |\n|---|---|\n'
timed "packages that are missing" scripts/install.sh --tests
if [[ ! $only_ci ]]; then
  timed "scripts/demo.sh" scripts/demo.sh
  timed "everything else that scripts/test.sh builds" cmake --build build
  timed "change $SOURCE, build and run its unit tests" change_and_test
  mv "$CLONE/build/.ninja_log" "$FOLDER/ninja_log"
fi
if [[ $with_ci ]]; then
  # From nothing again: the stages above have filled the cache.
  rm -rf "$CCACHE_DIR" "$XDG_CACHE_HOME"
  (cd "$CLONE" && git clean -fdxq)
  timed "ci from nothing" env CI_MINUTES=1000 .ci/run
  ci_stages ci-from-nothing
  (cd "$CLONE" && git clean -fdxq)
  timed "ci warm" .ci/run
  ci_stages ci-warm
fi
[[ ! $only_ci ]] || exit 0
(cd "$CLONE" && cmake --preset release >/dev/null)
mv "$FOLDER/ninja_log" "$CLONE/build/.ninja_log"
(cd "$CLONE" && cmake --preset dev && cmake --build build-dev --target generated_sources) >"$FOLDER/dev.log" 2>&1 ||
  die "configuring the preset dev failed: $(reason_in "$FOLDER/dev.log")"
printf '\n'
scripts/build_costs.py --objects "$CLONE/build" --headers "$CLONE/build-dev" --every "$every"
