#include "store/copy/part_sums.h"

#include <utility>
#include <vector>

#include "base/time.h"

namespace plimsoll::store {
namespace {

constexpr int64_t kNsPerDay = 24 * kNsPerHour;

// Groups of IDs by a value of their entries, and the values by group.
template <typename Value>
class ValueGroups {
 public:
  void add(const Value& value) {
    const auto [known, is_new] = groups_.try_emplace(value, static_cast<uint32_t>(values_.size()));
    if (is_new) {
      values_.push_back(value);
    }
    by_id_.push_back(known->second);
  }

  IdGrouping grouping() const { return IdGrouping::by(by_id_); }
  const Value& value_of(uint32_t group) const { return values_[group]; }

 private:
  std::map<Value, uint32_t> groups_;
  std::vector<Value> values_;
  std::vector<uint32_t> by_id_;
};

int64_t day_of(int64_t wall_ns) {
  return wall_ns / kNsPerDay - (wall_ns % kNsPerDay < 0 ? 1 : 0);
}

std::string text_of(const SumKey& key) {
  return fmt::format("event {}, job \"{}\", day {}", key.event, key.job, format_time(key.day * kNsPerDay));
}

}  // namespace

double PartSums::all_hits() const {
  double sum = 0;
  for (const auto& [key, value] : hits) {
    sum += value;
  }
  return sum;
}

Result<PartSums> sums_of(const CopiedPart& part) {
  const Dictionaries& entries = part.entries;
  ValueGroups<int64_t> days;
  for (const OriginEntry& origin : entries.origins) {
    days.add(day_of(origin.from_ns));
  }
  ValueGroups<std::string> jobs;
  for (const WorkloadEntry& workload : entries.workloads) {
    jobs.add(workload.job);
  }
  AggregateRequest request;
  request.group[Column::kEvent] = IdGrouping::each();
  request.group[Column::kOrigin] = days.grouping();
  request.group[Column::kWorkload] = jobs.grouping();
  request.measures = {factors_of(std::vector<std::vector<double>>(
      entries.events.size(), std::vector<double>(entries.origins.size(), 1.0)))};
  const auto cells = part.rows->aggregate(request);
  if (!cells) {
    return propagate(cells);
  }
  PartSums sums{.profiles = entries.origins.size() - 1};
  for (size_t cell = 0; cell < cells->size(); ++cell) {
    const CellKey& key = cells->keys[cell];
    sums.hits[{.day = days.value_of(key[Column::kOrigin]),
               .event = entries.events[key[Column::kEvent]].name,
               .job = jobs.value_of(key[Column::kWorkload])}] += cells->sum(cell);
  }
  return sums;
}

std::optional<std::string> difference_between(const PartSums& expected, const PartSums& found) {
  if (found.profiles != expected.profiles) {
    return fmt::format("{} profiles instead of {}", found.profiles, expected.profiles);
  }
  for (const auto& [key, hits] : expected.hits) {
    const auto copied = found.hits.find(key);
    const double sum = copied == found.hits.end() ? 0 : copied->second;
    if (sum != hits) {
      return fmt::format("{} hits instead of {}: {}", sum, hits, text_of(key));
    }
  }
  for (const auto& [key, hits] : found.hits) {
    if (!expected.hits.contains(key)) {
      return fmt::format("{} hits instead of none: {}", hits, text_of(key));
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll::store
