// In which functions threads were sampled: of all requests, or of one. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/bursts/joined/thread_states.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::traces {

struct FunctionSamples {
  std::string function;
  uint64_t own = 0;  // samples in it
  uint64_t all = 0;  // in it or in what it calls
  bool operator==(const FunctionSamples&) const = default;
};

class FunctionShares {
 public:
  // Of threads that work for a request. `only` 0: for any. Costs what the different stacks have of frames.
  void add(const BurstStacks& stacks, const JoinedBurst& joined, uint64_t only = 0);

  uint64_t samples() const { return samples_; }
  uint64_t without_stack() const { return without_stack_; }  // of these
  // Those with the most samples in all, then by name.
  std::vector<FunctionSamples> most(size_t limit) const;

 private:
  struct Counts {
    uint64_t own = 0;
    uint64_t all = 0;
    uint64_t counted_in = 0;  // number of the stack that was counted last
  };
  std::unordered_map<std::string, Counts> functions_;
  uint64_t stacks_ = 0;  // that were counted
  uint64_t samples_ = 0;
  uint64_t without_stack_ = 0;
};

}  // namespace plimsoll::traces
