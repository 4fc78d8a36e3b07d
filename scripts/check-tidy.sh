#!/usr/bin/env bash
# Runs clang-tidy-19 over the project's own sources as the preset dev compiles them, on all processors (scripts/tidy_batches.py).
#
#   scripts/check-tidy.sh                    sources that changed in the 12 hours before the newest commit or since, and one
#                                            that includes it of each header that did
#   scripts/check-tidy.sh --since REVISION   that changed since then
#   scripts/check-tidy.sh --all              all, each function as far as the static analyser goes by itself
#   scripts/check-tidy.sh '^store/' ...      those whose path matches one of the extended regular expressions
#
# Only the last form checks tests: GoogleTest's macros make them take as long as all the rest. What was found clean is not
# checked again while nothing that clang-tidy reads has changed: delete ~/.cache/plimsoll-tidy to do so. Where DEADLINE is set
# (scripts/lib.sh), no batch begins after it, and the sources that are left are named.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

since=
all=
patterns=()
while (($#)); do
  case $1 in
    --all) all=yes ;;
    --since)
      since=$(git rev-parse --verify --quiet "${2:-}^{commit}") || die "--since requires a revision, not \"${2:-}\""
      shift
      ;;
    -*) die "unknown argument $1; there are --all, --since REVISION and patterns of paths" ;;
    *) patterns+=("$1") ;;
  esac
  shift
done

command -v clang-tidy-19 >/dev/null || die "clang-tidy-19 is missing; run scripts/install.sh --tests"
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll-tidy
step "configure dev" cmake --preset dev
# Headers that they make must exist before anything can be parsed.
step "generate sources" cmake --build build-dev --target generated_sources

# The revision that changes count from: the newest one that is 12 hours older than the newest commit, or the first. A landing seldom
# has older ones that none checked, and twice as long would take a third of the time that CI has; soak.sh --checks-only checks all.
hours_before() {
  local newest revision
  newest=$(git log -1 --format=%ct)
  revision=$(git rev-list -1 --before=$((newest - 43200)) HEAD)
  printf '%s' "${revision:-$(git rev-list --max-parents=0 HEAD | tail -n1)}"
}

if [[ ! $all ]] && ((${#patterns[@]} == 0)) && git rev-parse --git-dir >/dev/null 2>&1; then
  since=${since:-$(hours_before)}
fi

# selected SINCE PATTERN...: the sources to check, a line each.
selected() {
  python3 - "$@" <<'PYTHON'
import json, os, re, subprocess, sys

root = os.getcwd() + "/"
since, patterns = sys.argv[1], sys.argv[2:]
entries = json.load(open("build-dev/compile_commands.json"))
own = sorted({entry["file"][len(root):] for entry in entries
              if entry["file"].startswith(root) and not entry["file"].startswith(root + "build")})
if patterns:
    own = [file for file in own if any(re.search(pattern, file) for pattern in patterns)]
else:
    own = [file for file in own if not file.startswith("tests/")]

if since:
    def lines(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    changed = set(lines("git", "diff", "--name-only", since))
    changed.update(lines("git", "ls-files", "--others", "--exclude-standard"))
    # A change of a .proto changes the header that is made from it.
    includes = {}
    for file in lines("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.h", "*.cc"):
        if os.path.exists(file):
            named = re.findall(r'^#include "([^"]+)"', open(file, encoding="utf-8").read(), re.MULTILINE)
            includes[file] = {re.sub(r"\.pb\.h$", ".proto", name) for name in named}
    # What changed itself; and of each header that changed the first source that includes it, where none of those is there already.
    asked = {file for file in own if file in changed}
    for header in sorted(changed):
        users = [file for file in own if header in includes.get(file, ())]
        if users and asked.isdisjoint(users):
            asked.add(users[0])
    own = sorted(asked)
print("\n".join(own))
PYTHON
}

check_all() {
  local what=
  [[ ! $since ]] || what=" by what changed since $(git log -1 --format='%h of %cs' "$since")"
  printf 'checking sources%s\n' "$what"
  selected "$since" "${patterns[@]}" | scripts/tidy_batches.py --build build-dev --cache "$CACHE" ${all:+--thorough} \
    ${DEADLINE:+--deadline "$DEADLINE"}
}

step "check tidy" check_all
