#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "query/placement/blame.h"
#include "query/placement/placement_parts.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxNamed = 5;
// Of a plan and of capacity; below it is rounding.
constexpr double kNoticeable = 1e-6;

std::string with_margin(const Estimated& estimated, CostUnit unit) {
  return fmt::format("{} ({})", use_text(estimated.value, unit),
                     estimated.margin ? "±" + use_text(*estimated.margin, unit) : "margin unknown");
}

std::string cost_note(const PlacementPlan& plan) {
  const Placement& placement = plan.placement;
  const double gap = 1 - placement.min_cost / placement.cost;
  return fmt::format("the plan costs {}; {}", with_margin(plan.cost(), plan.input.unit),
                     gap < kNoticeable ? "no plan costs less"
                                       : fmt::format("no plan costs more than {:.3g} % less", 100 * gap));
}

bool rests_on_bounds(const PlacementPlan& plan) {
  for (size_t i = 0; i < plan.placement.loads.size(); ++i) {
    if (plan.placement.loads[i] > 0 && plan.input.problem.pairs[i].is_bound) {
      return true;
    }
  }
  return false;
}

std::string saving_note(const PlacementPlan& plan) {
  const auto saving = plan.saving();
  if (!saving) {
    return "the saving is unknown: today's placement has pairs without a measured cost";
  }
  const double todays = plan.placement.cost + saving->value;
  return fmt::format("the plan saves {}{} against today's placement, {:.3g} % of its cost",
                     rests_on_bounds(plan) ? "at least " : "", with_margin(*saving, plan.input.unit),
                     100 * saving->value / todays);
}

// By Certainty.
using Counts = std::array<size_t, 3>;

std::string counts_text(const Counts& counts, std::string_view what) {
  const size_t all = counts[0] + counts[1] + counts[2];
  const std::string text = fmt::format("of {} {}{}, {} {} certain within the margins", all, what,
                                       all == 1 ? "" : "s", counts[2], counts[2] == 1 ? "is" : "are");
  return counts[1] == 0 ? text : text + fmt::format("; {} have unknown margins", counts[1]);
}

std::string placements_note(const PlacementPlan& plan) {
  Counts counts{};
  for (size_t i = 0; i < plan.placement.loads.size(); ++i) {
    if (plan.placement.loads[i] > 0) {
      const Pair& pair = plan.input.problem.pairs[i];
      const auto over_all = choice_over_all(pair, plan.pairs_of(pair.job), plan.placement.prices);
      ++counts.at(static_cast<size_t>(over_all.choice.certainty));
    }
  }
  return counts_text(counts, "placement");
}

std::string moves_note(const PlacementPlan& plan) {
  Counts counts{};
  for (const Move& move : plan.moves()) {
    ++counts.at(static_cast<size_t>(move.choice.certainty));
  }
  return counts == Counts{} ? "nothing moves: today's placement is optimal" : counts_text(counts, "move");
}

void add_full_platforms(const PlacementPlan& plan, std::vector<std::string>& notes) {
  std::vector<std::string> full;
  for (size_t i = 0; i < plan.input.platforms.size(); ++i) {
    if (plan.placement.prices[i] > kNoticeable) {
      full.push_back(fmt::format("{} ({:.3g})", plan.input.platforms[i], plan.placement.prices[i]));
    }
  }
  if (!full.empty()) {
    notes.push_back(fmt::format("full platforms, with the saving per unit of added capacity: {}",
                                names_text(full, kMaxNamed)));
  }
}

void add_overcommitted(const PlacementPlan& plan, std::vector<std::string>& notes) {
  std::vector<std::string> over;
  const std::vector<double> use = plan.todays_use();
  for (size_t i = 0; i < use.size(); ++i) {
    if (use[i] > plan.input.problem.capacities[i] * (1 + kNoticeable)) {
      over.push_back(plan.input.platforms[i]);
    }
  }
  if (!over.empty()) {
    notes.push_back(fmt::format("today's placement exceeds the capacity of {}; the plan does not",
                                names_text(over, kMaxNamed)));
  }
}

void add_unknown(const PlacementPlan& plan, std::optional<double> max_unknown_cost,
                 std::vector<std::string>& notes) {
  const size_t unknown = plan.input.unknown_pairs;
  if (unknown == 0) {
    return;
  }
  if (!max_unknown_cost) {
    notes.push_back(fmt::format("{} of {} pairs of job and platform have no cost and are not used", unknown,
                                plan.input.jobs.size() * plan.input.platforms.size()));
    return;
  }
  notes.push_back(fmt::format(
      "{} pairs of job and platform have no cost; assumed is at most {:g} times the job's maximum cost{}",
      unknown, *max_unknown_cost,
      rests_on_bounds(plan) ? "; the plan uses some of them (cost_kind: at most)" : ""));
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

std::vector<std::string> placement_notes(const PlacementPlan& plan, std::optional<double> max_unknown_cost) {
  std::vector<std::string> notes{cost_note(plan)};
  if (plan.has_today) {
    notes.push_back(saving_note(plan));
    notes.push_back(moves_note(plan));
    add_overcommitted(plan, notes);
  } else {
    notes.push_back(placements_note(plan));
  }
  add_full_platforms(plan, notes);
  add_unknown(plan, max_unknown_cost, notes);
  if (!plan.input.idle_jobs.empty()) {
    notes.push_back("not placed, without load: " + names_text(plan.input.idle_jobs, kMaxNamed));
  }
  return notes;
}

std::unexpected<Error> fail_lost(const PlacementInput& input) {
  const auto& lost = input.lost_jobs;
  return with_hint(fail(ErrorCode::kNotFound, "no placement: no known cost on any platform for {}: {}",
                        lost.size() == 1 ? "this job" : fmt::format("these {} jobs", lost.size()),
                        names_text(lost, kMaxNamed)),
                   "measure each on at least one platform, or remove it");
}

std::unexpected<Error> fail_short(const PlacementInput& input, const Shortage& shortage) {
  const Blame blame = blame_for(input.problem, shortage);
  const bool is_all = blame.platforms.size() == input.platforms.size();
  const std::string platforms =
      is_all ? "all platforms together" : names_text(named(blame.platforms, input.platforms), kMaxNamed);
  const std::string jobs = fmt::format("{} job{} ({})", blame.jobs.size(), blame.jobs.size() == 1 ? "" : "s",
                                       names_text(named(blame.jobs, input.jobs), kMaxNamed));
  const bool is_plain = blame.needed > blame.capacity;
  return with_hint(
      fail(ErrorCode::kNotFound,
           "no placement: {} {} {} {} even at each job's minimum cost, and {} have {}{}; at least {} is "
           "missing in any placement",
           jobs, is_all ? "need" : "without a cost on other platforms need", is_plain ? "at least" : "only",
           use_text(blame.needed, input.unit), platforms, use_text(blame.capacity, input.unit),
           is_plain ? "" : ", but do not fit together", use_text(shortage.missing, input.unit)),
      is_all ? "add capacity or reduce load"
             : "add capacity there, reduce load, or give costs of these jobs on other platforms (or assume "
               "them with --max-unknown-cost)");
}

}  // namespace plimsoll::query
