// One run of plimsolld over the whole machine.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"
#include "proto/profile.pb.h"

namespace plimsoll::bench {

struct AgentRun {
  Usage usage;
  uint64_t bytes = 0;  // of the profile as it would be sent
  wire::RawProfile profile;

  double samples() const { return static_cast<double>(profile.events(0).hits()); }
  double samples_with_stacks() const;
  // Of the samples with stacks, the share whose stacks reach the outermost frame.
  double whole_share() const;
};

// `plimsolld --once SECONDS --event cpu-clock OPTIONS`; fails where it took no samples.
Result<AgentRun> run_agent(double seconds, const std::vector<std::string>& options,
                           const ScratchFolder& folder);

}  // namespace plimsoll::bench
