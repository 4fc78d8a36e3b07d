#!/usr/bin/env bash
# Runs clang-tidy-19 over the project's own sources as build/compile_commands.json compiles them, on all processors.
# Arguments are extended regular expressions of paths to check instead: scripts/check-tidy.sh '^store/' '^tests/unit/store'
# Without any, tests are left out: GoogleTest's macros make them take as long as all the rest. Delete ~/.cache/plimsoll-tidy
# (or what PLIMSOLL_TIDY_CACHE names) to check again what was clean.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v clang-tidy-19 >/dev/null || die "clang-tidy-19 is missing; run scripts/install.sh"
[[ -f build/compile_commands.json ]] || step "configure release" cmake --preset release
CACHE=${PLIMSOLL_TIDY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll-tidy}
TOOLS=$(clang-tidy-19 --version && cat .clang-tidy)
export CACHE TOOLS
# Generated sources lie below build/; headers they make must exist before anything can be parsed.
step "build generated sources" cmake --build build --target proto

selected() {
  python3 - "$@" <<'PYTHON'
import json, os, re, sys

root = os.getcwd() + "/"
files = {entry["file"] for entry in json.load(open("build/compile_commands.json"))}
own = sorted(file[len(root):] for file in files if file.startswith(root) and not file.startswith(root + "build"))
patterns = sys.argv[1:] or ["^(?!tests/)"]
print("\n".join(file for file in own if any(re.search(pattern, file) for pattern in patterns)))
PYTHON
}

# check_one SOURCE: clang-tidy's report where it finds something. What was found clean is not checked again while nothing
# that clang-tidy reads has changed: checks, options, and the source with all that it includes, comments too.
check_one() {
  local arguments preprocessed key=
  mapfile -t arguments < <(options_of "$1")
  if preprocessed=$(clang++-19 "${arguments[@]}" -E -CC "$1" 2>/dev/null); then
    key=$(printf '%s\n' "$TOOLS" "${arguments[@]}" "$preprocessed" | sed "s|$PWD|.|g" | sha256sum | cut -d' ' -f1)
  fi
  [[ -n $key && -e $CACHE/$key ]] && return
  clang-tidy-19 --quiet -p build "$1" 2>&1 || return
  [[ -z $key ]] || touch "$CACHE/$key"
}

# options_of SOURCE: those that it is compiled with, a line each.
options_of() {
  python3 - "$1" <<'PYTHON'
import json, os, shlex, sys

path = os.path.join(os.getcwd(), sys.argv[1])
entry = next(entry for entry in json.load(open("build/compile_commands.json")) if entry["file"] == path)
words = iter(shlex.split(entry["command"])[1:])
for word in words:
    if word == "-o":
        next(words)
    elif word != "-c" and word != path:
        print(word)
PYTHON
}

check_all() {
  # Standard output of each file comes whole, and the names of the failing ones last.
  local failing
  failing=$(mktemp)
  mkdir -p "$CACHE"
  export -f check_one options_of
  # shellcheck disable=SC2016  # expanded by the inner shell
  selected "$@" | FAILING=$failing xargs -r -P"$(nproc)" -I{} bash -c '
    if ! report=$(check_one "$1"); then
      printf "%s\n" "$report"
      printf "%s\n" "$1" >>"$FAILING"
    fi' _ {}
  local count
  count=$(wc -l <"$failing")
  if ((count)); then
    printf 'error: clang-tidy fails in %d files: %s\n' "$count" "$(sort "$failing" | paste -sd' ')"
  fi
  rm -f "$failing"
  ((count == 0))
}

step "check tidy" check_all "$@"
