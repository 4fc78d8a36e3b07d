#include "scheduler/safety/limited_groups.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <string_view>

namespace plimsoll::scheduler {
namespace {

// Groups of one kind, by their names or numbers. First all members are counted, then the limits are added to those of
// other kinds.
template <typename Name>
class Groups {
 public:
  explicit Groups(double share) : share_(share) {}

  void count(Name name, uint32_t members = 1) {
    const auto [group, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(members_.size()));
    if (is_new) {
      members_.push_back(0);
    }
    members_[group->second] += members;
  }
  void add_limits(GroupLimits& limits) {
    first_ = static_cast<uint32_t>(limits.size());
    for (const double members : members_) {
      limits.push_back(share_ * members);
    }
  }
  // Among the groups of all kinds.
  uint32_t number_of(Name name) const { return first_ + numbers_.at(name); }

 private:
  const double share_;
  uint32_t first_ = 0;
  boost::unordered_flat_map<Name, uint32_t> numbers_;
  std::vector<double> members_;
};

}  // namespace

Status check(const SafetyLimits& limits) {
  const auto is_share = [](double share) { return share > 0 && share <= 1; };  // a NaN is none
  const char* const wrong = !is_share(limits.share_of_job)        ? "share_of_job"
                            : !is_share(limits.share_of_platform) ? "share_of_platform"
                            : !is_share(limits.share_of_rack)     ? "share_of_rack"
                            : !is_share(limits.share_of_cpu)      ? "share_of_cpu"
                                                                  : nullptr;
  return wrong == nullptr ? Status()
                          : with_field(fail(ErrorCode::kInvalid, "must be above 0 and at most 100 %"), wrong);
}

LimitedGroups limited_groups(std::span<const Candidate> fleet, std::span<const uint32_t> machines,
                             const SafetyLimits& limits) {
  Groups<std::string_view> platforms(limits.share_of_platform);
  Groups<std::string_view> racks(limits.share_of_rack);
  Groups<uint32_t> jobs(limits.share_of_job);
  for (const Candidate& candidate : fleet) {
    platforms.count(candidate.machine->platform());
    if (!candidate.rack.empty()) {
      racks.count(candidate.rack);
    }
    for (const store::PlacedJob& placed : candidate.jobs) {
      jobs.count(placed.job, placed.instances);
    }
  }
  LimitedGroups groups;
  platforms.add_limits(groups.limits);
  racks.add_limits(groups.limits);
  jobs.add_limits(groups.limits);
  for (const uint32_t machine : machines) {
    const Candidate& candidate = fleet[machine];
    std::vector<GroupPart>& parts = groups.parts.emplace_back();
    parts.push_back({platforms.number_of(candidate.machine->platform()), 1});
    if (!candidate.rack.empty()) {
      parts.push_back({racks.number_of(candidate.rack), 1});
    }
    for (const store::PlacedJob& placed : candidate.jobs) {
      parts.push_back({jobs.number_of(placed.job), static_cast<double>(placed.instances)});
    }
  }
  return groups;
}

}  // namespace plimsoll::scheduler
