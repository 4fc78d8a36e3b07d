// What a reader should know of the profiles that an answer stands on: gaps between them, and machines that outweigh all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// Where daemons that sample all the time did not: their limits paused them, or made them take so few samples that each stands for much.
class SamplingGaps {
 public:
  explicit SamplingGaps(size_t machines) : sampled_to_ns_(machines) {}

  // An event's profiles: of each machine (OriginIndex::machine_of()) in the order of time, or nearly.
  void add(uint32_t machine, const store::OriginEntry& origin, const store::OriginEventEntry& entry);
  void describe(const store::EventEntry& event, std::vector<std::string>& notes) const;

 private:
  std::vector<int64_t> sampled_to_ns_;  // by machine; 0: not yet
  int64_t sampled_ns_ = 0;
  int64_t paused_ns_ = 0;
  double heaviest_ = 0;  // what a sample stands for, on the mean of a profile
};

// Where one of several machines, or one in a hundred, has most of what was counted, be it busy, broken or lying: the answer is about
// these few.
class MachineValues {
 public:
  explicit MachineValues(size_t machines) : values_(machines), ids_(machines) {}

  // As SamplingGaps::add().
  void add(uint32_t machine, const store::OriginEntry& origin, const store::OriginEventEntry& entry);
  void describe(const Snapshot& snapshot, std::vector<std::string>& notes) const;

 private:
  std::vector<double> values_;  // by machine: estimates of the fleet's part that it stands for
  std::vector<uint32_t> ids_;   // likewise: of the dictionary
};

}  // namespace plimsoll::query
