// Raw profiles as daemons send them, generated.
#pragma once

#include <cstdint>
#include <string_view>

#include "bench/store/stack_tree.h"
#include "proto/profile.pb.h"

namespace plimsoll::bench {

inline constexpr uint32_t kProfileSamples = 2000;

// Profiles of so many samples of cycles on stacks of a StackTree with kJobs jobs, from 8 processes of 4 threads each a machine:
// the job of each process, the stacks of a job and its threads skewed as in ProfileRows. Every process is an instance of its own,
// every location code of one of 500 binaries.
class RawProfiles {
 public:
  explicit RawProfiles(const StackTree& tree) : tree_(tree) {}

  // Of one machine in one window of time; what runs on a machine stays the same.
  wire::RawProfile generate(uint32_t machine, uint32_t window, uint32_t samples = kProfileSamples) const;

  // The tree's location that is at an address of one of those binaries.
  static uint32_t location_of(std::string_view build_id, uint64_t address);

 private:
  const StackTree& tree_;
};

}  // namespace plimsoll::bench
