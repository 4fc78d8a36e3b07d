#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "query/placement/assignment_parts.h"
#include "query/placement/blame.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMostNamed = 5;
// Of a plan and of capacity; below it is rounding.
constexpr double kNoticeable = 1e-6;

std::string with_margin(const Estimated& estimated, CostUnit unit) {
  return fmt::format("{} ({})", use_text(estimated.value, unit),
                     estimated.margin ? "±" + use_text(*estimated.margin, unit) : "margin unknown");
}

std::string cost_note(const Assignment& assignment) {
  const Placement& placement = assignment.placement;
  const double gap = 1 - placement.least_cost / placement.cost;
  return fmt::format("the plan costs {}; {}", with_margin(assignment.cost(), assignment.input.unit),
                     gap < kNoticeable ? "no plan costs less"
                                       : fmt::format("no plan costs more than {:.3g} % less", 100 * gap));
}

bool rests_on_bounds(const Assignment& assignment) {
  for (size_t i = 0; i < assignment.placement.loads.size(); ++i) {
    if (assignment.placement.loads[i] > 0 && assignment.input.problem.pairs[i].is_bound) {
      return true;
    }
  }
  return false;
}

std::string saving_note(const Assignment& assignment) {
  const auto saving = assignment.saving();
  if (!saving) {
    return "what it saves is not known, as today's assignment has pairs without a measured cost";
  }
  const double todays = assignment.placement.cost + saving->value;
  return fmt::format("it saves {}{} against today's assignment, {:.3g} % of what that costs",
                     rests_on_bounds(assignment) ? "at least " : "",
                     with_margin(*saving, assignment.input.unit), 100 * saving->value / todays);
}

// By Certainty.
using Counts = std::array<size_t, 3>;

std::string counts_text(const Counts& counts, std::string_view what) {
  const size_t all = counts[0] + counts[1] + counts[2];
  const std::string text = fmt::format("of {} {}{}, {} {} certain, given the margins", all, what,
                                       all == 1 ? "" : "s", counts[2], counts[2] == 1 ? "is" : "are");
  return counts[1] == 0 ? text : text + fmt::format("; of {} margins are not known", counts[1]);
}

std::string placements_note(const Assignment& assignment) {
  Counts counts{};
  for (size_t i = 0; i < assignment.placement.loads.size(); ++i) {
    if (assignment.placement.loads[i] > 0) {
      const Pair& pair = assignment.input.problem.pairs[i];
      const auto over_all = choice_over_all(pair, assignment.pairs_of(pair.job), assignment.placement.prices);
      ++counts.at(static_cast<size_t>(over_all.choice.certainty));
    }
  }
  return counts_text(counts, "placement");
}

std::string moves_note(const Assignment& assignment) {
  Counts counts{};
  for (const Move& move : assignment.moves()) {
    ++counts.at(static_cast<size_t>(move.choice.certainty));
  }
  return counts == Counts{} ? "nothing moves: today's assignment is the best" : counts_text(counts, "move");
}

void add_full_platforms(const Assignment& assignment, std::vector<std::string>& notes) {
  std::vector<std::string> full;
  for (size_t i = 0; i < assignment.input.platforms.size(); ++i) {
    if (assignment.placement.prices[i] > kNoticeable) {
      full.push_back(
          fmt::format("{} ({:.3g})", assignment.input.platforms[i], assignment.placement.prices[i]));
    }
  }
  if (!full.empty()) {
    notes.push_back(fmt::format("full, and what a unit more of their capacity would save: {}",
                                names_text(full, kMostNamed)));
  }
}

void add_overcommitted(const Assignment& assignment, std::vector<std::string>& notes) {
  std::vector<std::string> over;
  const std::vector<double> use = assignment.todays_use();
  for (size_t i = 0; i < use.size(); ++i) {
    if (use[i] > assignment.input.problem.capacities[i] * (1 + kNoticeable)) {
      over.push_back(assignment.input.platforms[i]);
    }
  }
  if (!over.empty()) {
    notes.push_back(
        fmt::format("today's assignment takes more than the capacity of {}, which the plan keeps to",
                    names_text(over, kMostNamed)));
  }
}

void add_unknown(const Assignment& assignment, std::optional<double> unknown_at_most,
                 std::vector<std::string>& notes) {
  const size_t unknown = assignment.input.unknown_pairs;
  if (unknown == 0) {
    return;
  }
  if (!unknown_at_most) {
    notes.push_back(fmt::format("{} of {} pairs of job and platform have no cost, and are left out", unknown,
                                assignment.input.jobs.size() * assignment.input.platforms.size()));
    return;
  }
  notes.push_back(fmt::format(
      "{} pairs of job and platform have no cost, and are taken to cost at most {:g} times the job's most{}",
      unknown, *unknown_at_most,
      rests_on_bounds(assignment) ? "; the plan rests on some of them (cost_kind: at most)" : ""));
}

std::vector<std::string> named(const std::vector<uint32_t>& numbers, const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const uint32_t number : numbers) {
    result.push_back(names[number]);
  }
  return result;
}

}  // namespace

std::string use_text(double use, CostUnit unit) {
  return unit == CostUnit::kCycles ? readable(use, "cycles") + " cycles/s"
                                   : fmt::format("{:.4g} CPUs", use / kCpuNsPerSecond);
}

std::string names_text(const std::vector<std::string>& names, size_t most) {
  if (names.size() > most) {
    return fmt::format("{} and {} more",
                       fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(most), ", "),
                       names.size() - most);
  }
  return names.size() < 2
             ? fmt::format("{}", fmt::join(names, ""))
             : fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

std::vector<std::string> assignment_notes(const Assignment& assignment,
                                          std::optional<double> unknown_at_most) {
  std::vector<std::string> notes{cost_note(assignment)};
  if (assignment.has_today) {
    notes.push_back(saving_note(assignment));
    notes.push_back(moves_note(assignment));
    add_overcommitted(assignment, notes);
  } else {
    notes.push_back(placements_note(assignment));
  }
  add_full_platforms(assignment, notes);
  add_unknown(assignment, unknown_at_most, notes);
  if (!assignment.input.idle_jobs.empty()) {
    notes.push_back("without load, and not placed: " + names_text(assignment.input.idle_jobs, kMostNamed));
  }
  return notes;
}

std::unexpected<Error> fail_lost(const AssignmentInput& input) {
  const auto& lost = input.lost_jobs;
  return with_hint(fail(ErrorCode::kNotFound, "no placement: no cost is known, on any platform, of {}: {}",
                        lost.size() == 1 ? "this job" : fmt::format("these {} jobs", lost.size()),
                        names_text(lost, kMostNamed)),
                   "measure each on one platform at least, or leave it out");
}

std::unexpected<Error> fail_short(const AssignmentInput& input, const Shortage& shortage) {
  const Blame blame = blame_for(input.problem, shortage);
  const bool is_all = blame.platforms.size() == input.platforms.size();
  const std::string platforms =
      is_all ? "all platforms together" : names_text(named(blame.platforms, input.platforms), kMostNamed);
  const std::string jobs = fmt::format("{} job{} ({})", blame.jobs.size(), blame.jobs.size() == 1 ? "" : "s",
                                       names_text(named(blame.jobs, input.jobs), kMostNamed));
  const bool is_plain = blame.needed > blame.capacity;
  return with_hint(
      fail(ErrorCode::kNotFound,
           "no placement: {} {} {} {} even where each of them costs least, and {} have {}{}; at least {} is "
           "missing, wherever jobs are put",
           jobs, is_all ? "need" : "with a cost on no other platform need", is_plain ? "at least" : "only",
           use_text(blame.needed, input.unit), platforms, use_text(blame.capacity, input.unit),
           is_plain ? "" : ", but do not fit there together", use_text(shortage.missing, input.unit)),
      is_all ? "more capacity is needed, or less load"
             : "more capacity there, less load, or costs of these jobs on other platforms "
               "(--unknown-at-most bounds those that are not known)");
}

}  // namespace plimsoll::query
