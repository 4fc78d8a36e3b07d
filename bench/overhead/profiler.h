// plimsolld at work beside what is measured, as it runs everywhere: 99 Hz on every CPU, with stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"

namespace plimsoll::bench {

// Runs on from pair to pair, since a daemon starts once and profiles for days; its events are switched off and on from here,
// through file descriptors that are copies of its own. Ended, without a profile, when destroyed.
class Profiler {
 public:
  // Returns once it samples. It writes into `folder` when stopped: a server on this machine would cost more than it.
  static Result<Profiler> start(const ScratchFolder& folder);

  // Switches all its events on or off, those that follow processes too, and returns when it has digested what it had.
  // Processes that start while they are off stay unknown to it, so they should have ended before they are on again.
  Status switch_events(bool on);

  // CPU time of plimsolld so far.
  Result<double> cpu_s() const;

  // The samples of its window; it has ended then. Fails where it took none.
  Result<uint64_t> stop();

 private:
  Profiler(Child child, std::string output, std::vector<UniqueFd> events)
      : child_(std::move(child)), output_(std::move(output)), events_(std::move(events)) {}

  Child child_;
  std::string output_;
  std::vector<UniqueFd> events_;  // copies
};

}  // namespace plimsoll::bench
