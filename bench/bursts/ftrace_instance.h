// Recording system calls by ftrace, in an instance of its own: the kernel's own tracer, beside perf.
#pragma once

#include <string>

#include "base/result.h"

namespace plimsoll::bench {

// Records getpid() calls of all CPUs while it exists. Only root can make one.
class FtraceInstance {
 public:
  static Result<FtraceInstance> record_getpid();

  FtraceInstance(FtraceInstance&& other) noexcept;
  FtraceInstance& operator=(FtraceInstance&&) = delete;
  FtraceInstance(const FtraceInstance&) = delete;
  FtraceInstance& operator=(const FtraceInstance&) = delete;
  ~FtraceInstance();

 private:
  explicit FtraceInstance(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;  // empty: moved from
};

}  // namespace plimsoll::bench
