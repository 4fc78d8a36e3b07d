#!/usr/bin/env bash
# Fails where text that users read has words or forms that docs/development.md rules out: see check_words.py.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

step "check words" python3 scripts/check_words.py
