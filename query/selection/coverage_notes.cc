#include "query/selection/coverage_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/time.h"

namespace plimsoll::query {
namespace {

constexpr int64_t kShortestPauseNs = 1 * kNsPerSecond;
constexpr int64_t kLongestPauseNs = 10 * kNsPerMinute;  // longer ones: the daemon was stopped
constexpr int64_t kNotedPause = 20;                     // one part of so many
constexpr double kHeavySampleNs = 1e9;

// Of few machines each may well have half. Of many, one in a hundred may not have it together.
constexpr size_t kFewestMachines = 5;
constexpr size_t kFewOf = 100;
constexpr double kMaxOfFew = 0.5;
constexpr size_t kMaxNamed = 5;

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
  sampled_ns_ += entry.profiles > 0 ? entry.observed_ns : origin.to_ns - origin.from_ns;
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
        fmt::format("{:.0f} % of the time was sampled: daemons paused between windows to stay within their "
                    "CPU and memory limits, or restarted",
                    100 * static_cast<double>(sampled_ns_) / static_cast<double>(all_ns)));
  }
  if (event.name == "cpu-clock" && heaviest_ > kHeavySampleNs) {
    notes.push_back(fmt::format(
        "some samples stand for {} of CPU time each: daemons lowered the rate to stay within their limits",
        format_duration(static_cast<int64_t>(heaviest_))));
  }
}

void MachineValues::add(uint32_t machine, const store::OriginEntry& origin,
                        const store::OriginEventEntry& entry) {
  values_[machine] += entry.scale * static_cast<double>(entry.hits) / origin.inclusion_probability;
  ids_[machine] = origin.machine;
}

void MachineValues::describe(const Snapshot& snapshot, std::vector<std::string>& notes) const {
  std::vector<size_t> machines;  // the largest first
  for (size_t machine = 0; machine < values_.size(); ++machine) {
    if (values_[machine] > 0) {
      machines.push_back(machine);
    }
  }
  if (machines.size() < kFewestMachines) {
    return;
  }
  std::ranges::sort(machines, {}, [this](size_t machine) { return std::pair(-values_[machine], machine); });
  const double sum = std::accumulate(values_.begin(), values_.end(), 0.0);
  const size_t most = std::max<size_t>(1, machines.size() / kFewOf);
  double of_few = 0;
  size_t few = 0;
  while (few < most && of_few < kMaxOfFew * sum) {
    of_few += values_[machines[few++]];
  }
  if (of_few < kMaxOfFew * sum) {
    return;
  }
  std::string names;
  std::string filters;
  for (size_t i = 0; i < std::min(few, kMaxNamed); ++i) {
    const std::string& name = snapshot.dictionaries.machines[ids_[machines[i]]].machine_id;
    names += (i == 0 ? "" : ", ") + name;
    filters += fmt::format(" --where machine!={}", name);
  }
  notes.push_back(fmt::format("{:.0f} % of what {} machines counted is of {}: {}{} ({} leaves {} out)",
                              100 * of_few / sum, machines.size(), few == 1 ? "one" : std::to_string(few),
                              names, few > kMaxNamed ? ", ..." : "", filters.substr(1),
                              few == 1 ? "it" : "these"));
}

}  // namespace plimsoll::query
