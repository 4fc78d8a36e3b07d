// CPU profiles by gperftools' libprofiler: SIGPROF at each 10 ms of the process's CPU time (CPUPROFILE_FREQUENCY), while a request
// lasts.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "appprof/profile.h"

namespace plimsoll::appprof {

// Takes one as long as `wait` lasts. In `profile` what libprofiler wrote; an error is returned in words, else empty. libprofiler
// is used where the program has it, and loaded at the first request otherwise: a program that never asks has no handler of
// SIGPROF. One at a time: the caller sees to it.
std::string take_cpu_profile(const std::function<void()>& wait, std::string& profile);

// samples/count, cpu/nanoseconds of what libprofiler wrote, up to its text of mappings. What is malformed ends it.
Profile parse_cpu_profile(std::string_view written);

// Whether it can be taken: libprofiler is there, or can be loaded. Loads nothing.
bool has_profiler();

}  // namespace plimsoll::appprof
