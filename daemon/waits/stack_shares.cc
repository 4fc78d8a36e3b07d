#include "daemon/waits/stack_shares.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>
#include <vector>

namespace plimsoll::waits {
namespace {

constexpr unsigned kBitsOfLength = 8;
// A profile holds 2^56 hits. 2^52 ns are those of 12,000 threads in a window of six minutes.
constexpr uint64_t kMaxTotalNs = uint64_t{1} << 52U;
constexpr uint64_t kLongUnitNs = 1024;

}  // namespace

void StackShares::add(uint32_t thread, uint64_t lasted_ns, uint64_t time_ns, const uint32_t* stack) {
  if (time_ns == 0) {
    return;
  }
  const ClassKey key = uint64_t{thread} << kBitsOfLength | static_cast<uint64_t>(std::bit_width(lasted_ns));
  Class& of = classes_[key];
  of.time_ns += time_ns;
  of.squares += static_cast<double>(time_ns) * static_cast<double>(time_ns);
  total_ns_ += time_ns;
  ++waits_;
  if (stack == nullptr) {
    return;
  }
  const std::pair<ClassKey, uint32_t> entry{key, *stack};
  if (by_stack_.size() < max_entries_ || by_stack_.contains(entry)) {
    by_stack_[entry] += time_ns;
    of.sampled_ns += time_ns;
  }
}

void StackShares::write(uint32_t event, uint32_t stackless, ProfileBuilder& builder) {
  std::vector<std::tuple<ClassKey, uint32_t, uint64_t>> sampled;
  sampled.reserve(by_stack_.size());
  for (const auto& [key, time_ns] : by_stack_) {
    sampled.emplace_back(key.first, key.second, time_ns);
  }
  std::ranges::sort(sampled);
  const uint64_t unit_ns = total_ns_ > kMaxTotalNs ? kLongUnitNs : 1;
  const auto add_row = [&](ClassKey key, uint32_t stack, const Class& of, uint64_t time_ns) {
    if (const uint64_t hits = time_ns / unit_ns; hits > 0) {
      // Only waits with stacks tell how the class is divided: each stands for its time over the share of time that has stacks.
      const uint64_t known_ns = of.sampled_ns == 0 ? of.time_ns : of.sampled_ns;
      const double share = static_cast<double>(time_ns) / static_cast<double>(known_ns);
      builder.add_weighted_samples(
          event, static_cast<uint32_t>(key >> kBitsOfLength), stack,
          {.hits = hits, .squares = of.squares * share / static_cast<double>(unit_ns * unit_ns)});
    }
  };
  ClassKey of_before = UINT64_MAX;
  uint64_t sampled_before = 0;  // of the class
  uint64_t given_before = 0;
  for (const auto& [key, stack, time_ns] : sampled) {
    const Class& of = classes_.at(key);
    if (key != std::exchange(of_before, key)) {
      sampled_before = given_before = 0;
    }
    sampled_before += time_ns;
    // By running sums, so that the rows of a class add up to its time exactly.
    const double share = static_cast<double>(sampled_before) / static_cast<double>(of.sampled_ns);
    const uint64_t given =
        sampled_before == of.sampled_ns
            ? of.time_ns
            : std::min(of.time_ns, static_cast<uint64_t>(share * static_cast<double>(of.time_ns)));
    add_row(key, stack, of, given - std::min(given, std::exchange(given_before, given)));
  }
  for (const auto& [key, of] : classes_) {
    if (of.sampled_ns == 0) {
      add_row(key, stackless, of, of.time_ns);
    }
  }
  builder.add_sample_count(event, waits_);
  *this = StackShares(max_entries_);
}

}  // namespace plimsoll::waits
