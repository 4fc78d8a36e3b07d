// Whether a piece of work kills the process that does it, found out in a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace plimsoll {

struct TrialLimits {
  uint64_t memory_bytes = 0;  // that the work may allocate, beyond what the process has when it begins
  uint32_t cpu_seconds = 0;
};

// Does `prepare`, then, within the limits, `work`, in a fork of this process, and waits for its end. Says in words how `work` killed it:
// by a signal that comes from what a process does itself (SIGSEGV, SIGABRT, ...) or by taking more than the memory. Nothing where it came
// to an end, whatever it returned or threw, where it was ended from outside (SIGKILL, SIGTERM, ...), which says nothing about the
// work, or took too long. Neither may touch what fork() leaves in pieces: other threads' locks, connections of SQLite that are open. Errors
// are those of making the process.
Result<std::optional<std::string>> dies_alone(const std::function<void()>& prepare,
                                              const std::function<void()>& work, const TrialLimits& limits);

}  // namespace plimsoll
