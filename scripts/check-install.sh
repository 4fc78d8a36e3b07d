#!/usr/bin/env bash
# Installs what is built in BUILD_FOLDER into a temporary folder, and fails unless the programs there run, have no debug information
# and no symbol table of their own, and have debug files with the same build ID and the lines of their functions.
# Usage: scripts/check-install.sh BUILD_FOLDER
set -euo pipefail

die() {
  printf 'check-install.sh: %s\n' "$1" >&2
  exit 1
}

(($# == 1)) || die "usage: scripts/check-install.sh BUILD_FOLDER"
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$1" --prefix "$prefix" >/dev/null

sections_of() {
  readelf --sections --wide "$1" 2>/dev/null | grep -oE ' \.[a-z_]+' | tr -d ' '
}
for name in plimsoll plimsolld; do
  program=$prefix/bin/$name
  "$program" --help >/dev/null || die "$program does not run"
  ! sections_of "$program" | grep -qE '^\.(debug_info|symtab)$' || die "$program is not stripped"
  build_id=$(readelf --notes --wide "$program" | sed -nE 's/.*Build ID: ([0-9a-f]{40})$/\1/p')
  [[ $build_id ]] || die "$program has no build ID of 20 bytes"
  debug_file=$prefix/lib/debug/.build-id/${build_id:0:2}/${build_id:2}.debug
  [[ -f $debug_file ]] || die "there is no debug file of $name: $debug_file"
  readelf --notes --wide "$debug_file" 2>/dev/null | grep -q "Build ID: $build_id" || die "$debug_file is of another build"
  for section in .debug_line .debug_info .symtab; do
    sections_of "$debug_file" | grep -qxF "$section" || die "$debug_file has no $section"
  done
  printf '%s: %d MB, debug file %d MB\n' "$name" $(($(stat -c %s "$program") >> 20)) $(($(stat -c %s "$debug_file") >> 20))
done
grep -qxF "ExecStart=$prefix/bin/plimsolld --config /etc/plimsoll/daemon.toml" "$prefix/lib/systemd/system/plimsolld.service" ||
  die "the unit does not start $prefix/bin/plimsolld"
[[ -f $prefix/share/plimsoll/server.example.toml && -f $prefix/share/plimsoll/daemon.example.toml ]] ||
  die "the examples of the configurations are missing"
# A program that finds the library by pkg-config alone, in C, starts and names its address.
cat >"$prefix/served.c" <<'C'
#include <appprof/appprof_c.h>
#include <stdio.h>
int main(void) {
  plimsoll_appprof_options options = {sizeof options};
  char text[512];
  options.listen = "127.0.0.1:0";
  if (plimsoll_appprof_start(&options, text, sizeof text) != 0) return puts(text), 1;
  plimsoll_appprof_address(text, sizeof text);
  plimsoll_appprof_stop();
  return puts(text) < 0;
}
C
folder=$(dirname "$(find "$prefix" -name plimsoll_appprof.pc)")
[[ -f $folder/plimsoll_appprof.pc ]] || die "there is no plimsoll_appprof.pc"
# shellcheck disable=SC2046  # several flags
PKG_CONFIG_PATH=$folder cc -o "$prefix/served" "$prefix/served.c" \
  $(PKG_CONFIG_PATH=$folder pkg-config --define-variable=prefix="$prefix" --cflags --libs plimsoll_appprof) ||
  die "a C program does not link with plimsoll_appprof"
LD_LIBRARY_PATH=$folder/.. "$prefix/served" | grep -q '^http://127.0.0.1:' || die "a C program does not serve profiles"
# One in C++ that finds the static library as a CMake package has heap profiles, too.
mkdir "$prefix/package"
cat >"$prefix/package/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(served CXX)
find_package(plimsoll_appprof REQUIRED)
add_executable(served served.cc)
target_link_libraries(served PRIVATE plimsoll::appprof_static tcmalloc)
CMAKE
cat >"$prefix/package/served.cc" <<'CC'
#include <appprof/appprof.h>
#include <stdio.h>
#include <stdlib.h>
int main() {
  const plimsoll::appprof::Started started = plimsoll::appprof::start({.listen = "127.0.0.1:0", .announce = true, .announce_dir = "."});
  const plimsoll::appprof::Label label("request", "install");
  if (!started) return puts(started.error.c_str()), 1;
  system("cat [0-9]*.json");
  plimsoll::appprof::stop();
}
CC
(cd "$prefix/package" && cmake -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_STANDARD=20 . && cmake --build .) >"$prefix/package.log" 2>&1 ||
  die "a program does not build with the CMake package: $(tail -n 5 "$prefix/package.log")"
announced=$(cd "$prefix/package" && ./served)
for part in '"heap"' '"allocs"' '"contention"' '"problems": \[\]'; do
  grep -q "$part" <<<"$announced" || die "the static library announces no $part: $announced"
done
