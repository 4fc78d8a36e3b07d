#!/usr/bin/env bash
# run-case.sh BIN NAME: runs the check of one case, an input that gave a wrong answer once, with the programs in BIN. The cases
# lie beside the corpus (PLIMSOLL_CORPUS); 77, which ctest counts as skipped, where they do not, or a tool is missing.
set -euo pipefail
cases=${PLIMSOLL_CORPUS:-../shared/corpus}/../cases
if [[ ! -f $cases/$2/check.sh ]]; then
  echo "there is no case $2 beside the corpus ($cases): set PLIMSOLL_CORPUS"
  exit 77
fi
PATH=$1:$PATH exec bash "$cases/$2/check.sh"
