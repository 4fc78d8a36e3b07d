#include "query/operations/build_uses.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "elf/build_id.h"
#include "query/selection/selected_events.h"
#include "query/snapshot/dimension.h"
#include "store/model/aggregation.h"
#include "store/model/id_set.h"

namespace plimsoll::query {
namespace {

// By dictionary ID the group; 0: rows that do not count, or have no job.
using Groups = std::vector<uint32_t>;

// By the records' places, plus one.
Groups group_by_build(const std::vector<symbolizer::BinaryRecord>& records, const Snapshot& snapshot) {
  std::map<std::string_view, uint32_t> numbers;
  for (uint32_t i = 0; i < records.size(); ++i) {
    numbers.try_emplace(std::string_view(records[i].build_id).substr(0, elf::kCutBuildIdBytes), i + 1);
  }
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  Groups groups(dictionaries.stacks.size());
  for (uint32_t stack = 0; stack < groups.size(); ++stack) {
    const auto binary = binary_id_of(snapshot, dictionaries.stacks[stack].location);
    if (!binary || dictionaries.binaries[*binary].identity_kind != wire::GNU_BUILD_ID) {
      continue;
    }
    const std::string_view identity = dictionaries.binaries[*binary].identity;
    const auto number = numbers.find(identity.substr(0, elf::kCutBuildIdBytes));
    groups[stack] = number == numbers.end() ? 0 : number->second;
  }
  return groups;
}

// `names`: of the groups.
Groups group_by_job(const Snapshot& snapshot, std::vector<std::string>& names) {
  names = {""};
  std::map<std::string_view, uint32_t> numbers{{"", 0}};
  const auto& workloads = snapshot.dictionaries.workloads;
  Groups groups(workloads.size());
  for (uint32_t id = 0; id < groups.size(); ++id) {
    const auto [entry, is_new] = numbers.try_emplace(workloads[id].job, static_cast<uint32_t>(names.size()));
    if (is_new) {
      names.push_back(workloads[id].job);
    }
    groups[id] = entry->second;
  }
  return groups;
}

// `ends_ns`: of the groups, where the newest profile of the hour ends.
Groups group_by_hour(const Snapshot& snapshot, int64_t from_ns, std::vector<int64_t>& ends_ns) {
  ends_ns = {0};
  std::map<int64_t, uint32_t> numbers;
  const auto& origins = snapshot.dictionaries.origins;
  Groups groups(origins.size());
  for (uint32_t id = 1; id < groups.size(); ++id) {
    const int64_t end_ns = origins[id].to_ns;
    if (end_ns < from_ns) {
      continue;
    }
    const auto [entry, is_new] =
        numbers.try_emplace(end_ns / kNsPerHour, static_cast<uint32_t>(ends_ns.size()));
    if (is_new) {
      ends_ns.push_back(end_ns);
    }
    groups[id] = entry->second;
    ends_ns[entry->second] = std::max(ends_ns[entry->second], end_ns);
  }
  return groups;
}

std::vector<std::string> by_samples(const std::map<std::string, double>& jobs) {
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [job, samples] : jobs) {
    order.emplace_back(-samples, job);
  }
  std::ranges::sort(order);
  std::vector<std::string> names;
  for (auto& [samples, job] : order) {
    names.push_back(std::move(job));
  }
  return names;
}

store::IdSet in_a_group(const Groups& groups) {
  std::vector<bool> flags;
  flags.reserve(groups.size());
  for (const uint32_t group : groups) {
    flags.push_back(group != 0);
  }
  return store::IdSet::of_flags(std::move(flags));
}

// Both by dictionary ID.
struct Counted {
  Groups builds;  // of stacks
  Groups hours;   // of origins
};

// Samples of any event, by build and by `groups` of the workloads or origins.
Result<store::Cells> samples_by(const Counted& counted, store::Column column, const Groups& groups,
                                const Snapshot& snapshot) {
  store::AggregateRequest request;
  request.filter[store::Column::kEvent] = shown_events(snapshot);
  request.filter[store::Column::kStack] = in_a_group(counted.builds);
  request.filter[store::Column::kOrigin] = in_a_group(counted.hours);
  request.group[store::Column::kStack] = store::IdGrouping::by(counted.builds);
  request.group[column] = store::IdGrouping::by(groups);
  request.measures = {samples_per_hit(snapshot)};
  return snapshot.rows->aggregate(request);
}

}  // namespace

// Two passes: builds by job and hour would be too many cells.
Result<BuildUses> uses_of_builds(const std::vector<symbolizer::BinaryRecord>& records,
                                 const Snapshot& snapshot, int64_t from_ns) {
  BuildUses uses;
  if (records.empty()) {
    return uses;
  }
  std::vector<int64_t> ends_ns;
  std::vector<std::string> names;
  const Counted counted{.builds = group_by_build(records, snapshot),
                        .hours = group_by_hour(snapshot, from_ns, ends_ns)};
  if (std::ranges::all_of(counted.builds, [](uint32_t build) { return build == 0; })) {
    return uses;
  }
  const auto by_hour = samples_by(counted, store::Column::kOrigin, counted.hours, snapshot);
  const auto by_job =
      by_hour ? samples_by(counted, store::Column::kWorkload, group_by_job(snapshot, names), snapshot)
              : Result<store::Cells>(propagate(by_hour));
  if (!by_job) {
    return propagate(by_job);
  }
  for (const store::CellKey& key : by_hour->keys) {
    int64_t& last_seen_ns = uses[records[key[store::Column::kStack] - 1].build_id].last_seen_ns;
    last_seen_ns = std::max(last_seen_ns, ends_ns[key[store::Column::kOrigin]]);
  }
  std::map<uint32_t, std::map<std::string, double>> samples;  // by build and job
  for (size_t c = 0; c < by_job->size(); ++c) {
    const store::CellKey& key = by_job->keys[c];
    if (const uint32_t job = key[store::Column::kWorkload]; job != 0) {
      samples[key[store::Column::kStack]][names[job]] += by_job->sum(c);
    }
  }
  for (const auto& [build, of_jobs] : samples) {
    uses[records[build - 1].build_id].jobs = by_samples(of_jobs);
  }
  return uses;
}

}  // namespace plimsoll::query
