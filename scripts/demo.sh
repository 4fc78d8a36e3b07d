#!/usr/bin/env bash
# From a fresh clone to the demo: installs, builds, and runs "plimsoll demo" with the arguments given here.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

scripts/install.sh
build release demo_programs
exec build/bin/plimsoll demo "$@"
