#include "proto/sample_validation.h"

#include <vector>

#include "proto/profile_codec.h"
#include "proto/validation_checks.h"

namespace plimsoll::wire {
namespace {

// Adds hits to those of an event, within what sums of many profiles can hold.
Status add_hits(uint64_t hits, uint64_t& total, const std::string& field, int row) {
  if (hits > kMaxHits || total + hits > kMaxHits) {
    return invalid(fmt::format("{}[{}]", field, row), "more hits than a machine can take");
  }
  total += hits;
  return {};
}

bool has_name(const RawProfile& profile, uint32_t event, std::string_view name) {
  return event < static_cast<uint32_t>(profile.events_size()) &&
         profile.events(static_cast<int>(event)).name() == name;
}

// The event in question must be named like that.
Status check_branch_event(const RawProfile& profile, uint32_t index, std::string_view name,
                          std::string field) {
  if (index >= static_cast<uint32_t>(profile.events_size())) {
    return invalid(std::move(field), "index {} of {}", index, profile.events_size());
  }
  const std::string& actual = profile.events(static_cast<int>(index)).name();
  if (actual != name) {
    return invalid(std::move(field), "branch records of event {}, not {}", actual, name);
  }
  return {};
}

// Adds the table's hits to `totals`, one for each event of the profile.
Status check_table(const RawProfile& profile, const SampleTable& table, const std::string& path,
                   std::vector<uint64_t>& totals) {
  const int rows = table.thread_size();
  if (table.event_size() == 0) {
    return invalid(path + ".event", "samples of no event");
  }
  if (static_cast<int64_t>(table.hits_size()) != static_cast<int64_t>(rows) * table.event_size()) {
    return invalid(path + ".hits", "{} values for {} rows of {} events", table.hits_size(), rows,
                   table.event_size());
  }
  if (auto ok = first_failure(
          {check_length(table.stack_size(), rows, path + ".stack"),
           check_length(table.label_set_size(), table.label_set_size() == 0 ? 0 : rows, path + ".label_set"),
           check_indexes(table.event(), static_cast<uint64_t>(profile.events_size()), path + ".event"),
           check_indexes(table.thread(), static_cast<uint64_t>(profile.threads_size()), path + ".thread"),
           check_indexes(table.stack(), static_cast<uint64_t>(profile.stacks().parent_size()) + 1,
                         path + ".stack"),
           check_indexes(table.label_set(), static_cast<uint64_t>(profile.label_sets_size()) + 1,
                         path + ".label_set")});
      !ok) {
    return ok;
  }
  for (int i = 0; i < table.event_size(); ++i) {
    const std::string& name = profile.events(static_cast<int>(table.event(i))).name();
    if (is_of_branches(name)) {
      return invalid(fmt::format("{}.event[{}]", path, i), "samples of event {}, which has branch records",
                     name);
    }
  }
  for (int i = 0; i < table.hits_size(); ++i) {
    if (auto ok = add_hits(table.hits(i), totals[table.event(i % table.event_size())], path + ".hits", i);
        !ok) {
      return ok;
    }
  }
  return {};
}

// The columns of a table, whose events are in order.
Status check_branch_columns(const RawProfile& profile, const BranchTable& table, const std::string& path) {
  const auto locations = static_cast<uint64_t>(profile.locations().kind_size());
  const int rows = table.thread_size();
  const int mispredicted_rows = table.mispredicted_event_plus_1() == 0 ? 0 : rows;
  return first_failure(
      {check_length(table.from_location_size(), rows, path + ".from_location"),
       check_length(table.to_location_size(), rows, path + ".to_location"),
       check_length(table.hits_size(), rows, path + ".hits"),
       check_length(table.mispredicted_size(), mispredicted_rows, path + ".mispredicted"),
       check_indexes(table.thread(), static_cast<uint64_t>(profile.threads_size()), path + ".thread"),
       check_indexes(table.from_location(), locations, path + ".from_location"),
       check_indexes(table.to_location(), locations, path + ".to_location")});
}

Status check_branch_hits(const BranchTable& table, const std::string& path, std::vector<uint64_t>& totals) {
  for (int i = 0; i < table.hits_size(); ++i) {
    if (auto ok = add_hits(table.hits(i), totals[table.event()], path + ".hits", i); !ok) {
      return ok;
    }
  }
  for (int i = 0; i < table.mispredicted_size(); ++i) {
    if (table.mispredicted(i) > table.hits(i)) {
      return invalid(fmt::format("{}.mispredicted[{}]", path, i), "{} of {} branches", table.mispredicted(i),
                     table.hits(i));
    }
    // All branches are of one event (no two have its name), whose sum is bounded: so is this one, which is no larger.
    totals[table.mispredicted_event_plus_1() - 1] += table.mispredicted(i);
  }
  return {};
}

// Adds the table's hits to `totals`, as check_table does.
Status check_branches(const RawProfile& profile, const BranchTable& table, const std::string& path,
                      std::vector<uint64_t>& totals) {
  const uint32_t mispredicted = table.mispredicted_event_plus_1();
  // A range is not taken, and so never mispredicted.
  const bool is_of_ranges = mispredicted == 0 && has_name(profile, table.event(), kBranchRanges);
  if (auto ok = check_branch_event(profile, table.event(), is_of_ranges ? kBranchRanges : kBranchRecords,
                                   path + ".event");
      !ok) {
    return ok;
  }
  if (mispredicted != 0) {
    if (auto ok = check_branch_event(profile, mispredicted - 1, kBranchMispredictions,
                                     path + ".mispredicted_event_plus_1");
        !ok) {
      return ok;
    }
  }
  if (auto ok = check_branch_columns(profile, table, path); !ok) {
    return ok;
  }
  return check_branch_hits(table, path, totals);
}

}  // namespace

Status check_samples(const RawProfile& profile) {
  std::vector<uint64_t> totals(static_cast<size_t>(profile.events_size()));
  for (int i = 0; i < profile.samples_size(); ++i) {
    if (auto ok = check_table(profile, profile.samples(i), fmt::format("samples[{}]", i), totals); !ok) {
      return ok;
    }
  }
  for (int i = 0; i < profile.branches_size(); ++i) {
    if (auto ok = check_branches(profile, profile.branches(i), fmt::format("branches[{}]", i), totals); !ok) {
      return ok;
    }
  }
  for (int i = 0; i < profile.events_size(); ++i) {
    if (profile.events(i).hits() != totals[static_cast<size_t>(i)]) {
      return invalid(fmt::format("events[{}].hits", i), "{} hits where its samples sum to {}",
                     profile.events(i).hits(), totals[static_cast<size_t>(i)]);
    }
  }
  for (int i = 0; i < profile.label_sets_size(); ++i) {
    if (auto ok = check_labels(profile.label_sets(i).labels(), fmt::format("label_sets[{}]", i)); !ok) {
      return ok;
    }
  }
  return {};
}

}  // namespace plimsoll::wire
