#!/usr/bin/env bash
# run-case.sh BIN NAME: runs the check of one case, an input that gave a wrong answer once, with the programs in BIN. The cases
# lie beside the corpus (PLIMSOLL_CORPUS); 77, which ctest counts as skipped, where they do not, or a tool is missing.
set -euo pipefail
cases=${PLIMSOLL_CORPUS:-../shared/corpus}/../cases
if [[ ! -f $cases/$2/check.sh ]]; then
  echo "there is no case $2 beside the corpus ($cases): set PLIMSOLL_CORPUS"
  exit 77
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$cases/lib" "$cases/$2" "$copy"
chmod -R u+w "$copy"
# The check of signal-trampoline-name compares by awk's "print a > 0.9 * b". Without parentheses awk takes that for a redirection
# to a file called by the number, and prints nothing: the check answers "wrong" whatever it got.
sed -i 's/print a > 0\.9 \* b/print (a > 0.9 * b)/' "$copy/$2/check.sh"
PATH=$1:$PATH bash "$copy/$2/check.sh"
