#include "scheduler/harm/limited_groups.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <string_view>

namespace plimsoll::scheduler {
namespace {

// Groups of one kind, by their names.
using Groups = boost::unordered_flat_map<std::string_view, uint32_t>;

// Counts a member of a group.
void count(std::string_view name, Groups& groups, std::vector<double>& members) {
  const auto [group, is_new] = groups.try_emplace(name, static_cast<uint32_t>(members.size()));
  if (is_new) {
    members.push_back(0);
  }
  members[group->second] += 1;
}

// Adds a member to what a machine has of its group.
void add(uint32_t group, std::vector<GroupPart>& parts) {
  for (GroupPart& part : parts) {
    if (part.group == group) {
      part.members += 1;
      return;
    }
  }
  parts.push_back({group, 1});
}

}  // namespace

Status check(const HarmLimits& limits) {
  const auto is_share = [](double share) { return share > 0 && share <= 1; };  // a NaN is none
  const char* const wrong = !is_share(limits.share_of_job)        ? "share_of_job"
                            : !is_share(limits.share_of_platform) ? "share_of_platform"
                            : !is_share(limits.share_of_cpu)      ? "share_of_cpu"
                                                                  : nullptr;
  return wrong == nullptr
             ? Status()
             : with_field(
                   fail(ErrorCode::kInvalid,
                        "what may be measured at once, or taken of the CPU, is above 0 and at most all"),
                   wrong);
}

LimitedGroups limited_groups(std::span<const Candidate> fleet, std::span<const uint32_t> machines,
                             const HarmLimits& limits) {
  Groups jobs;
  Groups platforms;
  std::vector<double> instances;
  std::vector<double> of_platform;
  for (const Candidate& candidate : fleet) {
    count(candidate.machine->platform(), platforms, of_platform);
    for (const std::string_view job : candidate.jobs) {
      count(job, jobs, instances);
    }
  }
  LimitedGroups groups;
  for (const double members : of_platform) {
    groups.limits.push_back(limits.share_of_platform * members);
  }
  for (const double members : instances) {
    groups.limits.push_back(limits.share_of_job * members);
  }
  for (const uint32_t machine : machines) {
    std::vector<GroupPart>& parts = groups.parts.emplace_back();
    add(platforms.at(fleet[machine].machine->platform()), parts);
    for (const std::string_view job : fleet[machine].jobs) {
      add(static_cast<uint32_t>(of_platform.size()) + jobs.at(job), parts);
    }
  }
  return groups;
}

}  // namespace plimsoll::scheduler
