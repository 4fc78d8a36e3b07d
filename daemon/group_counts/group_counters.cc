#include "daemon/group_counts/group_counters.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "capture/identity/cgroup_folder.h"

namespace plimsoll {
namespace {

// A little time passes between a group's first turn on a CPU and the first count there.
constexpr double kAllTheTime = 0.99;
constexpr size_t kMaxNamed = 5;    // groups of one reason
constexpr size_t kMaxReasons = 5;  // that are told

void say_missing(const std::string& name, const std::string& reason, wire::RawProfile& profile) {
  wire::MissingEvent& missing = *profile.add_missing_events();
  missing.set_name(name);
  missing.set_reason(reason);
}

std::string list_of(const std::vector<std::string>& paths) {
  const auto named = paths | std::views::take(kMaxNamed);
  const std::string more =
      paths.size() > kMaxNamed ? fmt::format(" and {} more", paths.size() - kMaxNamed) : "";
  return fmt::format("{}{}", fmt::join(named, ", "), more);
}

bool has_event(const wire::RawProfile& profile, const std::string& name) {
  return std::ranges::any_of(profile.events(),
                             [&](const wire::Event& event) { return event.name() == name; });
}

std::string note_of(double running_share) {
  constexpr const char* kNote = "counted exactly, for the control groups that match count.groups";
  return running_share < kAllTheTime
             ? fmt::format(
                   "{}; its counters ran for {:.0f} % of the groups' time, and are scaled to all of it",
                   kNote, running_share * 100)
             : kNote;
}

}  // namespace

GroupCounters::GroupCounters(GroupCountPlan plan, std::string root,
                             std::unique_ptr<GroupCounterSource> source, const identity::ProcFs& proc_fs,
                             std::shared_ptr<const identity::JobRules> rules)
    : plan_(std::move(plan)),
      root_(std::move(root)),
      source_(std::move(source)),
      proc_fs_(proc_fs),
      namer_(proc_fs, std::move(rules)) {}

size_t GroupCounters::fds_of_a_group() const {
  size_t fds = 0;
  for (const GroupEvent& event : plan_.events) {
    fds += static_cast<size_t>(
        std::ranges::count_if(cpus_, [&](int cpu) { return code_on(event.type, cpu) != nullptr; }));
  }
  return fds;
}

std::vector<ChosenGroup> GroupCounters::choose() {
  if (root_.empty()) {
    problem_ = "no control groups of the perf_event hierarchy";
    return {};
  }
  auto cpus = source_->cpus();
  if (!cpus) {
    problem_ = cpus.error().text();
    return {};
  }
  if (*cpus != cpus_) {
    counted_.clear();  // they count on CPUs that are gone, and not on those that came
    cpus_ = std::move(*cpus);
  }
  GroupChoice choice = choose_groups(root_, *plan_.patterns);
  if (choice.is_cut) {
    leave_out("others", "more control groups than the limit");
  }
  for (const std::string& path : choice.unread) {
    leave_out(path, "permission denied; CAP_DAC_READ_SEARCH permits it");
  }
  if (choice.groups.empty() && left_out_.empty()) {
    problem_ = "count.groups matches no control group with processes";
  }
  return std::move(choice.groups);
}

void GroupCounters::keep_to_budget(std::vector<ChosenGroup>& groups) {
  const size_t of_a_group = std::max<size_t>(fds_of_a_group(), 1);
  const size_t half_of_files = source_->max_open_files() / 2;
  const size_t affordable = std::min(plan_.max_fds, half_of_files) / of_a_group;
  if (groups.size() <= affordable) {
    return;
  }
  const std::string limit =
      plan_.max_fds <= half_of_files
          ? fmt::format("count.max_fds is {}", plan_.max_fds)
          : fmt::format("{} is half of the files that this process may have open", half_of_files);
  const std::string reason = fmt::format("the {} matching groups need {} file descriptors, and {}",
                                         groups.size(), groups.size() * of_a_group, limit);
  for (const ChosenGroup& group : groups | std::views::drop(affordable)) {
    leave_out(group.path, reason);
  }
  groups.resize(affordable);
}

void GroupCounters::close_all_but(const std::vector<ChosenGroup>& groups) {
  std::erase_if(counted_, [&](const auto& entry) {
    return std::ranges::none_of(groups, [&](const ChosenGroup& group) {
      return group.name == entry.first && group.id == entry.second.group.id;
    });
  });
}

std::shared_ptr<identity::ProcessIdentity> GroupCounters::identity_of(const ChosenGroup& group,
                                                                      uint32_t pid) {
  auto identity = std::make_shared<identity::ProcessIdentity>();
  identity->comm = proc_fs_.comm(pid);
  identity->executable = proc_fs_.executable(pid);
  identity->cgroup = group.path;
  identity::Workload workload = namer_.name(pid, group.path);
  workload.job = workload.job.empty() ? group.path : workload.job;
  identity->workload = std::make_shared<const identity::Workload>(std::move(workload));
  return identity;
}

void GroupCounters::name_again(Counted& counted) {
  const std::string folder = root_ + counted.group.name;
  const uint32_t pid = identity::oldest_process(folder, proc_fs_).value_or(0);
  if (pid != 0 && identity::group_id(folder) == counted.group.id) {
    counted.identity = identity_of(counted.group, pid);
  }
}

void GroupCounters::open(const ChosenGroup& group) {
  const std::string folder = root_ + group.name;
  const uint32_t oldest = identity::oldest_process(folder, proc_fs_).value_or(0);
  Counted counted{.group = group,
                  .identity = identity_of(group, oldest != 0 ? oldest : group.pid),
                  .counters = {},
                  .at_start = {}};
  for (const GroupEvent& event : plan_.events) {
    auto counter = source_->open(folder, event.type, cpus_);
    if (!counter) {
      // One that vanished since it was chosen is no more left out than any other that is not there.
      if (identity::group_id(folder) == group.id) {
        leave_out(group.path, counter.error().text());
      }
      return;
    }
    counted.counters.push_back(std::move(*counter));
  }
  counted_.emplace(group.name, std::move(counted));
}

void GroupCounters::read_start() {
  for (auto entry = counted_.begin(); entry != counted_.end();) {
    Counted& counted = entry->second;
    counted.at_start.clear();
    Status read;
    for (const auto& counter : counted.counters) {
      auto values = counter->read();
      read = values ? read : propagate(values);
      counted.at_start.push_back(std::move(values).value_or(Values()));
    }
    if (!read) {
      leave_out(counted.group.path, read.error().text());
    }
    entry = read ? std::next(entry) : counted_.erase(entry);
  }
}

void GroupCounters::start() {
  left_out_.clear();
  problem_.clear();
  if (plan_.events.empty()) {
    return;
  }
  std::vector<ChosenGroup> groups = choose();
  keep_to_budget(groups);
  close_all_but(groups);
  for (const ChosenGroup& group : groups) {
    if (!counted_.contains(group.name)) {
      open(group);
    }
  }
  read_start();
  if (counted_.empty() && left_out_.empty() && problem_.empty()) {
    problem_ = "the control groups that match count.groups ended as the window began";
  }
}

GroupTotals GroupCounters::read_totals(const Counted& counted) const {
  GroupTotals totals;
  for (size_t i = 0; i < counted.counters.size(); ++i) {
    const auto values = counted.counters[i]->read();
    totals.push_back(values ? scaled_count(counted.at_start[i], *values) : std::nullopt);
  }
  return totals;
}

void GroupCounters::leave_out_incomplete(const std::vector<bool>& is_known, TotalsByGroup& own) {
  std::erase_if(own, [&](const auto& entry) {
    for (size_t i = 0; i < is_known.size(); ++i) {
      if (is_known[i] && !entry.second[i]) {
        leave_out(counted_.at(entry.first).group.path,
                  fmt::format("its counter of {} did not run, or that of a counted group below it",
                              plan_.events[i].type.name));
        return true;
      }
    }
    return false;
  });
}

void GroupCounters::add_event(const GroupEvent& event, size_t place, const TotalsByGroup& own,
                              wire::RawProfile& profile, ProfileBuilder& builder) const {
  const auto index = static_cast<uint32_t>(profile.events_size());
  wire::Event& added = *profile.add_events();
  added.set_name(event.name);
  added.set_unit(event.unit);
  added.set_kind(wire::DELTA);
  ScaledCount times;
  uint64_t total = 0;
  for (const auto& [name, of_group] : own) {
    // Each has one: leave_out_incomplete() took the others away.
    const ScaledCount count = of_group[place].value_or(ScaledCount());
    times.time_enabled_ns += count.time_enabled_ns;
    times.time_running_ns += count.time_running_ns;
    const auto value = static_cast<uint64_t>(std::llround(count.value * event.type.scale));
    if (value > 0) {
      const uint32_t process = builder.process(counted_.at(name).identity);
      // As many samples as hits: a reading of an exact count is not one sample of it, and a ratio's margin would take it for one.
      builder.add_hit(index, builder.thread(process, 0, {}), 0, value);
      total += value;
    }
  }
  added.set_counter_total(static_cast<double>(total));
  added.set_note(note_of(times.time_enabled_ns > 0 ? times.time_running_ns / times.time_enabled_ns : 1));
}

void GroupCounters::say_who_is_left_out(const std::string& event, wire::RawProfile& profile) const {
  for (const auto& [reason, paths] : left_out_ | std::views::take(kMaxReasons)) {
    say_missing(event, fmt::format("not counted for {}: {}", list_of(paths), reason), profile);
  }
  if (left_out_.size() > kMaxReasons) {
    say_missing(event,
                fmt::format("not counted for others, for {} more reasons", left_out_.size() - kMaxReasons),
                profile);
  }
}

void GroupCounters::add_to(wire::RawProfile& profile, ProfileBuilder& builder) {
  profile.mutable_missing_events()->Add(plan_.missing.begin(), plan_.missing.end());
  TotalsByGroup totals;
  for (const auto& [name, counted] : counted_) {
    totals.emplace(name, read_totals(counted));
  }
  for (auto& [name, counted] : counted_) {
    name_again(counted);
  }
  const std::vector<bool> is_known = known_events(totals, plan_.events.size());
  TotalsByGroup own = own_totals(totals);
  leave_out_incomplete(is_known, own);
  for (size_t i = 0; i < plan_.events.size(); ++i) {
    const std::string& name = plan_.events[i].name;
    if (!problem_.empty()) {
      say_missing(name, problem_, profile);
    } else if (!is_known[i]) {
      say_missing(name, "its counters did not run in this window: other users had the CPUs' counters",
                  profile);
    } else if (has_event(profile, name)) {
      say_missing(name, "another event of the profile has that name", profile);
    } else {
      if (!own.empty()) {
        add_event(plan_.events[i], i, own, profile, builder);
      }
      say_who_is_left_out(name, profile);
    }
  }
}

}  // namespace plimsoll
