// What the process that parses gives up before it reads a byte of a file.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace plimsoll::symbolizer {

// Builds with sanitizers need more memory and other system calls, and say on standard error what they find.
#ifdef PLIMSOLL_WITHOUT_SYSTEM_CALL_FILTER
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

struct ProcessLimits {
  uint64_t memory_bytes = uint64_t{1} << 30;  // of allocations; mapped files do not count
  uint64_t table_bytes = uint64_t{1} << 30;   // of the file that it writes
  uint32_t cpu_seconds = 10;                  // and one for each kBytesPerCpuSecond of the files
};
inline constexpr uint64_t kBytesPerCpuSecond = uint64_t{8} << 20;
// However large the files.
inline constexpr uint32_t kMaxCpuSeconds = 1200;

// The CPU time for files of that size.
uint32_t cpu_seconds_for(const ProcessLimits& limits, uint64_t file_bytes);

// What the kernel does to a confined process that goes beyond (exit statuses besides those of signals).
inline constexpr int kOutOfMemoryStatus = 71;

// For good: the process ends with its parent; leaves no core file; has the limits; gains nothing by exec; and is killed for
// any system call but those that reading files, allocating and ending take: no socket, no other program, no other process, no
// file opened for writing. What it may write to are standard output, standard error and `table_fd`. Out of memory, it ends
// with kOutOfMemoryStatus. Call once, before any thread is made. Builds with sanitizers keep the limits of time and files
// alone: they need far more memory and other calls.
Status confine(const ProcessLimits& limits, int parent_pid, int table_fd);

// Once confined: grants the time for files of that size.
void grant_cpu_time(const ProcessLimits& limits, uint64_t file_bytes);

}  // namespace plimsoll::symbolizer
