#!/usr/bin/env bash
# Installs the Debian packages that building and the demo need (scripts/packages.txt), if any is missing; with --tests also those
# that tests and checks need (scripts/packages-test.txt). With --bench it does so too, unpacks those that only benchmarks and long
# runs read (scripts/packages-bench.txt) below build/bench-packages, and fetches there with npm the databases that store_bench
# compares with (bench/store/package.json, 620 MB on disk); --bench-packages and --peers do one of both.
# As root, or with sudo. Needs the network only where something is missing.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

with_tests=
with_bench=
with_peers=
for argument in "$@"; do
  case $argument in
    --tests) with_tests=yes ;;
    --bench) with_tests=yes with_bench=yes with_peers=yes ;;
    --bench-packages) with_tests=yes with_bench=yes ;;
    --peers) with_tests=yes with_peers=yes ;;
    *) die "unknown argument $argument; there are --tests, --bench, --bench-packages and --peers" ;;
  esac
done

# packages_in FILE...
packages_in() {
  sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$@"
}

# Each is unpacked once.
unpack_bench_packages() {
  local folder=$PWD/build/bench-packages package
  mkdir -p "$folder"
  while read -r package; do
    [[ ! -e $folder/$package.unpacked ]] || continue
    (
      cd "$folder"
      rm -f "$package"_*.deb
      step "download $package" apt-get -o APT::Sandbox::User=root download "$package"
      step "unpack $package" dpkg-deb --extract "$package"_*.deb .
      rm "$package"_*.deb
      touch "$package.unpacked"
    )
  done < <(packages_in scripts/packages-bench.txt)
}

# Again where their list has changed.
install_peers() {
  local folder=$PWD/build/bench-packages list=$PWD/bench/store/package.json
  ! cmp --silent "$list" "$folder/peers.installed" || return 0
  command -v npm >/dev/null || die "npm is missing, which fetches DuckDB and ClickHouse: install Debian's npm, or Node.js"
  mkdir -p "$folder"
  cp "$list" "$folder"
  (
    cd "$folder"
    step "npm install" npm install --no-audit --no-fund --no-package-lock
  )
  cp "$list" "$folder/peers.installed"
}

[[ ! $with_bench ]] || unpack_bench_packages
[[ ! $with_peers ]] || install_peers

lists=(scripts/packages.txt)
[[ ! $with_tests ]] || lists+=(scripts/packages-test.txt)
missing=()
while read -r package; do
  # Node.js from elsewhere brings its own npm, and conflicts with Debian's package.
  if [[ $package == npm ]] && command -v npm >/dev/null; then
    continue
  fi
  if [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true) != installed ]]; then
    missing+=("$package")
  fi
done < <(packages_in "${lists[@]}")

if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || die "these packages are missing, and installing them needs root or sudo: ${missing[*]}"
  as_root=(sudo)
fi
printf 'installing: %s\n' "${missing[*]}"
step "apt-get update" "${as_root[@]}" apt-get update
step "apt-get install" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install --yes --no-install-recommends "${missing[@]}"
