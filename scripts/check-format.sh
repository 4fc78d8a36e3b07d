#!/usr/bin/env bash
# Fails where a tracked C++ file is not as clang-format-19 writes it. To fix: git ls-files '*.h' '*.cc' | xargs
# clang-format-19 -i
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v clang-format-19 >/dev/null || die "clang-format-19 is missing; run scripts/install.sh --tests"
step "check format" bash -c "git ls-files -z '*.h' '*.cc' | xargs -0 -r clang-format-19 --dry-run -Werror"
