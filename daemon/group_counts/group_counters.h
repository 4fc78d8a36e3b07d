// Events counted exactly, for a chosen few control groups: rows of instances, beside what is sampled.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capture/identity/proc_fs.h"
#include "capture/identity/workload_namer.h"
#include "daemon/group_counts/group_choice.h"
#include "daemon/group_counts/group_counter.h"
#include "daemon/group_counts/group_totals.h"
#include "daemon/window_counts/window_counts.h"

namespace plimsoll {

struct GroupEvent {
  perf::EventType type;
  std::string name;  // as profiles have it, beside the sampled event of that type
  wire::Unit unit = wire::COUNT;
};

struct GroupCountPlan {
  std::shared_ptr<const GroupPatterns> patterns;
  std::vector<GroupEvent> events;                // their names are unique
  std::vector<wire::MissingEvent> missing = {};  // what no group can have, for every profile
  size_t max_fds = 0;
};

// At each window's start the groups are chosen again: counters of those that are gone are closed, and those of new ones opened;
// a group that comes within a window counts from the next one on, and until then with the group that it is in.
//
// A group has all of the plan's events or none, so that ratios of two are of the same groups. What it counts is its own: the
// kernel counts the groups below it with it, and what counted ones among them had is taken off. File descriptors (a counter for
// each event on each CPU) are at most plan.max_fds, and half of what the process may have; groups that are chosen by later patterns,
// then those later by name, go without. missing_events of the profile lists omitted groups.
//
// Values are scaled by each counter's time enabled and running; where a group ran on CPUs on which an event never did, for more
// than a hundredth of the group's time, it is left out (scaled_count.h). Rows are named as samples of the group are.
class GroupCounters : public WindowCounts {
 public:
  // `root` is the folder of the hierarchy that perf events belong to; empty: there is none. Borrows `proc_fs`. Null `rules`: none.
  GroupCounters(GroupCountPlan plan, std::string root, std::unique_ptr<GroupCounterSource> source,
                const identity::ProcFs& proc_fs, std::shared_ptr<const identity::JobRules> rules);

  void start() override;
  void add_to(wire::RawProfile& profile, ProfileBuilder& builder) override;

 private:
  using Values = std::vector<perf::CounterValues>;  // by CPU
  struct Counted {
    ChosenGroup group;
    std::shared_ptr<identity::ProcessIdentity> identity;
    std::vector<std::unique_ptr<GroupCounter>> counters;  // by event
    std::vector<Values> at_start;                         // likewise
  };
  // Sets problem_ where there is nothing to choose from.
  std::vector<ChosenGroup> choose();
  size_t fds_of_a_group() const;
  void keep_to_budget(std::vector<ChosenGroup>& groups);
  void close_all_but(const std::vector<ChosenGroup>& groups);
  void open(const ChosenGroup& group);
  void read_start();
  std::shared_ptr<identity::ProcessIdentity> identity_of(const ChosenGroup& group, uint32_t pid);
  // As it is called by now, where one of its own processes still tells.
  void name_again(Counted& counted);
  void leave_out(const std::string& path, const std::string& reason) { left_out_[reason].push_back(path); }

  GroupTotals read_totals(const Counted& counted) const;
  // Those that lack an event which others know.
  void leave_out_incomplete(const std::vector<bool>& is_known, TotalsByGroup& own);
  void add_event(const GroupEvent& event, size_t place, const TotalsByGroup& own, wire::RawProfile& profile,
                 ProfileBuilder& builder) const;
  void say_who_is_left_out(const std::string& event, wire::RawProfile& profile) const;

  const GroupCountPlan plan_;
  const std::string root_;
  const std::unique_ptr<GroupCounterSource> source_;
  const identity::ProcFs& proc_fs_;
  identity::WorkloadNamer namer_;
  std::vector<int> cpus_;
  std::map<std::string, Counted> counted_;                    // by ChosenGroup::name
  std::map<std::string, std::vector<std::string>> left_out_;  // paths by reason, of this window
  std::string problem_;                                       // why no group is counted in this window
};

}  // namespace plimsoll
