#include "traces/bursts/joined/function_shares.h"

#include <algorithm>
#include <tuple>

namespace plimsoll::traces {

void FunctionShares::add(const BurstStacks& stacks, const JoinedBurst& joined, uint64_t only) {
  std::unordered_map<uint32_t, uint64_t> samples_of;
  for (const JoinedSample& sample : joined.samples) {
    if (sample.request != 0 && (only == 0 || sample.request == only)) {
      ++samples_of[sample.stack];
    }
  }
  // Nodes of a map stay where they are.
  std::unordered_map<uint32_t, Counts*> of_frames;
  for (const auto& [stack, samples] : samples_of) {
    samples_ += samples;
    without_stack_ += stack == 0 ? samples : 0;
    ++stacks_;
    bool is_innermost = true;
    stacks.for_each_frame(stack, [&, count = samples](uint32_t frame) {
      Counts*& counts = of_frames[frame];
      if (counts == nullptr) {
        counts = &functions_[name_of_frame(stacks, frame)];
      }
      counts->own += is_innermost ? count : 0;
      // A function that calls itself counts once.
      counts->all += counts->counted_in == stacks_ ? 0 : count;
      counts->counted_in = stacks_;
      is_innermost = false;
    });
  }
}

std::vector<FunctionSamples> FunctionShares::most(size_t limit) const {
  std::vector<FunctionSamples> sorted;
  sorted.reserve(functions_.size());
  for (const auto& [function, counts] : functions_) {
    sorted.push_back({.function = function, .own = counts.own, .all = counts.all});
  }
  std::ranges::sort(sorted, [](const FunctionSamples& left, const FunctionSamples& right) {
    return std::tie(right.all, right.own, left.function) < std::tie(left.all, left.own, right.function);
  });
  sorted.resize(std::min(limit, sorted.size()));
  return sorted;
}

}  // namespace plimsoll::traces
