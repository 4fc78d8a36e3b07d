// plimsolld at work beside what is measured, as it runs everywhere: 99 Hz on every CPU, with stacks.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"

namespace plimsoll::bench {

// Ended, without a profile, when destroyed.
class Profiler {
 public:
  // Returns once it samples. It writes into `folder` when stopped: a server on this machine would cost more than it.
  static Result<Profiler> start(const ScratchFolder& folder);

  struct Collected {
    uint64_t samples = 0;
    double seconds = 0;  // the window
    double cpu_s = 0;    // of plimsolld, start-up and writing the profile included
  };
  // Fails where it took no samples.
  Result<Collected> stop();

 private:
  Profiler(Child child, std::string output) : child_(std::move(child)), output_(std::move(output)) {}

  Child child_;
  std::string output_;
};

}  // namespace plimsoll::bench
