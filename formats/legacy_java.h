// Heap and contention profiles of Java programs, as text:
//
//   --- contentionz 1 ---                                     or --- heapz 1 ---
//   format = java
//   resolution = microseconds                                 of a heap: bytes
//   sampling period = 100                                     of contention only, as the next
//   ms since reset = 6019923
//     14  2 @ 0xd 0x19                                        delay or bytes, then how many
//     0xd com.example.Lock.take (Lock.java:31)
//     0x19 read (/usr/lib/libnio.so)
//
// Addresses are numbers that the program chose for this text. The format is that of github.com/google/pprof
// (profile/legacy_java_profile.go).
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/application_profile.h"

namespace plimsoll::formats {

// By the header: "--- contentionz 1 ---" begins profiles of C++ too, which have no format and no resolution.
bool looks_like_legacy_java(std::string_view text);

// Types: inuse_objects and inuse_space, scaled as samples every 512 KiB; or contentions and delay (in the header's
// resolution, a unit of time), multiplied by the sampling period. kCorrupt with the line that is wrong.
Result<ApplicationProfile> read_legacy_java(std::string_view text, const Limits& limits = {});

}  // namespace plimsoll::formats
