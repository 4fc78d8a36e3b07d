#!/usr/bin/env bash
# Builds the web page once more where there is no network, from what the build in BUILD_FOLDER has fetched, and fails unless the result is
# the same. Ends with status 77 where namespaces without network cannot be made.
# Usage: scripts/check-page-offline.sh BUILD_FOLDER
set -euo pipefail

die() {
  printf 'check-page-offline.sh: %s\n' "$1" >&2
  exit 1
}

(($# == 1)) || die "usage: scripts/check-page-offline.sh BUILD_FOLDER"
built=$(cd "$1/web" && pwd)
[[ -d $built/dist && -d $built/node_modules ]] || die "there is no page in $1"
unshare --user --map-root-user --net true 2>/dev/null || {
  printf 'no namespace without network can be made here\n'
  exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$built"/{src,index.html,tsconfig.json,vite.config.ts,package.json} "$folder"
ln -s "$built/node_modules" "$folder/node_modules"
# The loopback interface of a new namespace is down: not even this machine is reached.
(cd "$folder" && unshare --user --map-root-user --net \
  sh -c 'npm run check && npm run build -- --logLevel warn --outDir dist') >"$folder/log" 2>&1 ||
  die "the build needs the network: $(tail -n 5 "$folder/log")"
diff -r "$built/dist" "$folder/dist" >&2 || die "the page is another one without network"
printf 'the page is built without network\n'
