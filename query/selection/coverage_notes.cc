#include "query/selection/coverage_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/time.h"

namespace plimsoll::query {
namespace {

constexpr int64_t kShortestPauseNs = 1 * kNsPerSecond;
constexpr int64_t kLongestPauseNs = 10 * kNsPerMinute;  // longer ones: the daemon was stopped
constexpr int64_t kNotedPause = 20;                     // one part of so many
constexpr double kHeavySampleNs = 1e9;

// Of few machines each may well have half.
constexpr ptrdiff_t kFewestMachines = 5;
constexpr double kMostOfOneMachine = 0.5;

}  // namespace

void SamplingGaps::add(uint32_t machine, const store::OriginEntry& origin,
                       const store::OriginEventEntry& entry) {
  if (!origin.draw.empty() || origin.interval_ns != 0) {
    return;  // draws are of some machines some of the time
  }
  int64_t& sampled_to_ns = sampled_to_ns_[machine];
  const int64_t gap_ns = sampled_to_ns == 0 ? 0 : origin.from_ns - sampled_to_ns;
  if (gap_ns > kShortestPauseNs && gap_ns < kLongestPauseNs) {
    paused_ns_ += gap_ns;
  }
  sampled_ns_ += origin.to_ns - origin.from_ns;
  sampled_to_ns = std::max(sampled_to_ns, origin.to_ns);
  if (entry.samples > 0) {
    heaviest_ = std::max(heaviest_,
                         entry.scale * static_cast<double>(entry.hits) / static_cast<double>(entry.samples));
  }
}

void SamplingGaps::describe(const store::EventEntry& event, std::vector<std::string>& notes) const {
  const int64_t all_ns = sampled_ns_ + paused_ns_;
  if (paused_ns_ * kNotedPause > all_ns) {
    notes.push_back(
        fmt::format("{:.0f} % of the time was sampled: between their windows daemons paused, to stay within "
                    "their limits of CPU "
                    "time and memory, or were started again",
                    100 * static_cast<double>(sampled_ns_) / static_cast<double>(all_ns)));
  }
  if (event.name == "cpu-clock" && heaviest_ > kHeavySampleNs) {
    notes.push_back(fmt::format(
        "some samples stand for {} of CPU time each: daemons took few, to stay within their limits",
        format_duration(static_cast<int64_t>(heaviest_))));
  }
}

void MachineValues::add(uint32_t machine, const store::OriginEntry& origin,
                        const store::OriginEventEntry& entry) {
  values_[machine] += entry.scale * static_cast<double>(entry.hits) / origin.inclusion_probability;
  ids_[machine] = origin.machine;
}

void MachineValues::describe(const Snapshot& snapshot, std::vector<std::string>& notes) const {
  const auto machines = std::ranges::count_if(values_, [](double value) { return value > 0; });
  if (machines < kFewestMachines) {
    return;
  }
  const auto largest = std::ranges::max_element(values_);
  const double sum = std::accumulate(values_.begin(), values_.end(), 0.0);
  if (*largest < kMostOfOneMachine * sum) {
    return;
  }
  const uint32_t id = ids_[static_cast<size_t>(largest - values_.begin())];
  const std::string& name = snapshot.dictionaries.machines[id].machine_id;
  notes.push_back(
      fmt::format("{:.0f} % of what {} machines counted is of one: {} (--where machine!={} leaves it out)",
                  100 * *largest / sum, machines, name, name));
}

}  // namespace plimsoll::query
