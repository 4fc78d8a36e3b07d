// Texts of older profilers, sound, to be damaged.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/byte_reader.h"

namespace plimsoll::fuzz {

inline std::vector<std::string> heap_texts() {
  const std::string rows =
      "     2:     2048 [     5:     5120] @ 0x401137 0x401171\n"
      "     1:  1048576 [     1:  1048576] @ 0x401137 0x7f0000000010\n\n"
      "MAPPED_LIBRARIES:\n"
      "build=/srv/release\n"
      "00400000-00402000 r-xp 00001000 fd:01 1234    $build/server\n"
      "7f0000000000-7f0000001000: /lib/libc.so.6 (@2000) 3f4e1c7a\n";
  std::vector<std::string> texts;
  for (const char* dialect : {"heap_v2/524288", "heap/1048576", "heapprofile", "growthz"}) {
    texts.push_back("heap profile:      3:     3072 [     6:  1053696] @ " + std::string(dialect) + "\n" +
                    rows);
  }
  return texts;
}

inline std::vector<std::string> contention_texts() {
  std::vector<std::string> texts;
  texts.emplace_back(
      "--- contentionz 1 ---\n"
      "cycles/second = 3201000000\nsampling period = 100\nms since reset = 16502830\ndiscarded samples = 2\n"
      "  19490304       27 @ 0x401137 0x401171\n"
      "       768        1 @ 0x401137\n"
      "--- Memory map: ---\n"
      "  00400000-00fcb000: cppbench_server_main\n");
  texts.emplace_back("--- mutex:\ncycles/second=1000000000\nsampling period=1\n80 2 @ 0x11\n");
  return texts;
}

inline std::vector<std::string> java_texts() {
  const std::string names =
      "      0x0000000d com.example.Cache.fill (Cache.java:31)\n"
      "      0x00000019 read (/usr/lib/libnio.so)\n"
      "      0x0000001a generated stub/JIT\n"
      "      0x0000001b GC\n";
  return {
      "--- heapz 1 ---\nformat = java\nresolution = bytes\n"
      "       7048         1 @ 0x0000000d 0x00000019\n"
      "    4752296        17 @ 0x0000001a 0x0000001b 0x0000001c\n" +
          names,
      "--- contentionz 1 ---\nformat = java\nresolution = microseconds\n"
      "sampling period = 100\nms since reset = 6019923\n"
      "         14         2 @ 0x0000000d 0x00000019\n"
      "          0         1 @ 0x0000001b\n" +
          names};
}

// Of other allocators and profilers.
inline std::vector<std::string> other_texts() {
  const std::string cpu = [] {
    constexpr std::array<uint64_t, 15> kWords{0,        3, 0, 10'000,   0, 7, 2, 0x401137,
                                              0x401171, 3, 1, 0x401137, 0, 1, 0};
    return std::string(as_text(std::as_bytes(std::span(kWords)))) +
           "00400000-00480000 r-xp 00000000 08:01 1234 /srv/server\n";
  }();
  return {
      cpu,
      "heap_v2/524288\n  t*: 3: 1572864 [0: 0]\n@ 0x401137 0x401171\n  t*: 2: 1048576 [0: 0]\n  t0: 2: "
      "1048576 [0: 0]\n"
      "MAPPED_LIBRARIES:\n00400000-00480000 r-xp 00000000 08:01 1234 /srv/server\n",
      "goroutine profile: total 7\n5 @ 0x401137 0x401171\n#\t0x401136\tmain.work+0x1f\t/src/main.go:7\n2 @ "
      "0x401137\n",
      "--- symbol\nbinary=server\n0x1 main\n0x2 load--read\n---\n--- heap\nheap profile: 2: 2048 [2: 2048] @ "
      "heapprofile\n"
      " 2: 2048 [2: 2048] @ 0x2 0x1\n",
      "--- symbol\nbinary=server\n0x401137 main\n---\n--- profile\n" + cpu};
}

}  // namespace plimsoll::fuzz
