#!/usr/bin/env bash
# Runs clang-tidy-19 over the project's own sources as build/compile_commands.json compiles them, on all processors.
# Arguments are extended regular expressions of paths to check instead: scripts/check-tidy.sh '^store/' '^tests/unit/store'
# Without any, tests are left out: GoogleTest's macros make them take as long as all the rest.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v clang-tidy-19 >/dev/null || die "clang-tidy-19 is missing; run scripts/install.sh"
[[ -f build/compile_commands.json ]] || step "configure release" cmake --preset release
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

check_all() {
  # Standard output of each file comes whole, and the names of the failing ones last.
  local failing
  failing=$(mktemp)
  # shellcheck disable=SC2016  # expanded by the inner shell
  selected "$@" | xargs -r -P"$(nproc)" -I{} bash -c '
    if ! report=$(clang-tidy-19 --quiet -p build "$1" 2>&1); then
      printf "%s\n" "$report"
      printf "%s\n" "$1" >>"$2"
    fi' _ {} "$failing"
  local count
  count=$(wc -l <"$failing")
  if ((count)); then
    printf 'error: clang-tidy fails in %d files: %s\n' "$count" "$(sort "$failing" | paste -sd' ')"
  fi
  rm -f "$failing"
  ((count == 0))
}

step "check tidy" check_all "$@"
