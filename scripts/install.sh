#!/usr/bin/env bash
# Installs the Debian packages that building and the demo need (scripts/packages.txt), if any is missing; with --tests also those
# that tests and checks need (scripts/packages-test.txt). With --bench it does so too, unpacks those that only benchmarks and long
# runs read (scripts/packages-bench.txt) below build/bench-packages, and fetches there with npm the databases that store_bench
# compares with (bench/store/package.json, 620 MB on disk) and the OpenTelemetry exporters that tests send traces with
# (tests/e2e/clients/package.json, 40 MB); --bench-packages, --peers and --clients do one of these. With --scale it installs what tests of a
# store beyond one machine start (scripts/packages-scale.txt); of --bench it is no part.
# As root, or with sudo. Needs the network only where something is missing.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

with_tests=
with_bench=
with_peers=
with_clients=
with_scale=
for argument in "$@"; do
  case $argument in
    --tests) with_tests=yes ;;
    --bench) with_tests=yes with_bench=yes with_peers=yes with_clients=yes ;;
    --bench-packages) with_tests=yes with_bench=yes ;;
    --peers) with_tests=yes with_peers=yes ;;
    --clients) with_tests=yes with_clients=yes ;;
    --scale) with_tests=yes with_scale=yes ;;
    *) die "unknown argument $argument; there are --tests, --bench, --bench-packages, --peers, --clients and --scale" ;;
  esac
done

# packages_in FILE...
packages_in() {
  sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$@"
}

# unpack_kernel_modules PACKAGE: of the kernel package that it depends on, five modules, whose lines kernel_modules_test compares. All of it takes 2 GB.
unpack_kernel_modules() {
  local package modules
  package=$(apt-cache depends "$1" | sed -nE 's/^ *Depends: (linux-image-[^ ]+)$/\1/p')
  [[ $package ]] || die "$1 depends on no kernel package that apt-cache knows: apt-get update"
  mapfile -t modules < <(printf '*/kernel/%s.ko\n' arch/x86/kvm/kvm fs/btrfs/btrfs fs/smb/client/cifs fs/xfs/xfs net/netfilter/nf_tables)
  rm -f "$package"_*.deb
  step "download $package" apt-get -o APT::Sandbox::User=root download "$package"
  dpkg-deb --fsys-tarfile "$package"_*.deb | tar --extract --file=- --wildcards "${modules[@]}" ||
    die "unpacking modules of $package failed"
  rm "$package"_*.deb
}

# Each is unpacked once.
unpack_bench_packages() {
  local folder=$PWD/build/bench-packages package
  mkdir -p "$folder"
  while read -r package; do
    [[ ! -e $folder/$package.unpacked ]] || continue
    (
      cd "$folder"
      if [[ $package == linux-image-* ]]; then
        unpack_kernel_modules "$package"
      else
        rm -f "$package"_*.deb
        step "download $package" apt-get -o APT::Sandbox::User=root download "$package"
        step "unpack $package" dpkg-deb --extract "$package"_*.deb .
        rm "$package"_*.deb
      fi
      touch "$package.unpacked"
    )
  done < <(packages_in scripts/packages-bench.txt)
}

# install_npm FOLDER LIST: again where the list has changed.
install_npm() {
  local folder=$PWD/build/$1 list=$PWD/$2
  ! cmp --silent "$list" "$folder/peers.installed" || return 0
  command -v npm >/dev/null || die "npm is missing, which fetches the packages in $2: install Debian's npm, or Node.js"
  mkdir -p "$folder"
  cp "$list" "$folder"
  (
    cd "$folder"
    step "npm install" npm install --no-audit --no-fund --no-package-lock
  )
  cp "$list" "$folder/peers.installed"
}

[[ ! $with_bench ]] || unpack_bench_packages
[[ ! $with_peers ]] || install_npm bench-packages bench/store/package.json
[[ ! $with_clients ]] || install_npm clients tests/e2e/clients/package.json

lists=(scripts/packages.txt)
[[ ! $with_tests ]] || lists+=(scripts/packages-test.txt)
[[ ! $with_scale ]] || lists+=(scripts/packages-scale.txt)
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
