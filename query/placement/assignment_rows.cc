#include "query/placement/assignment_parts.h"

namespace plimsoll::query {
namespace {

Value value_of(std::optional<double> number) {
  return number ? Value(*number) : Value();
}

std::string cost_unit(CostUnit unit) {
  return unit == CostUnit::kCycles ? "cycles/instruction" : "ns/instruction";
}

std::string use_unit(CostUnit unit) {
  return unit == CostUnit::kCycles ? "cycles/s" : "ns/s";
}

std::vector<Value> placement_row(const Assignment& assignment, const Pair& pair, double load) {
  const AssignmentInput& input = assignment.input;
  const PlacementChoice over_all =
      choice_over_all(pair, assignment.pairs_of(pair.job), assignment.placement.prices);
  const bool has_other = over_all.alternative.has_value();
  return {input.jobs[pair.job],
          input.platforms[pair.platform],
          load,
          load / input.problem.loads[pair.job],
          pair.cost,
          value_of(pair.margin),
          std::string(pair.is_bound ? "at most" : "measured"),
          load * pair.cost,
          has_other ? Value(input.platforms[*over_all.alternative]) : Value(),
          has_other ? Value(over_all.choice.lead) : Value(),
          value_of(has_other ? over_all.choice.margin : std::nullopt),
          std::string(name_of(over_all.choice.certainty))};
}

struct PlatformSums {
  std::vector<double> use;
  std::vector<int64_t> jobs;
};

PlatformSums sums_of(const Assignment& assignment) {
  PlatformSums sums{.use = std::vector<double>(assignment.input.platforms.size()),
                    .jobs = std::vector<int64_t>(assignment.input.platforms.size())};
  for (size_t i = 0; i < assignment.placement.loads.size(); ++i) {
    const Pair& pair = assignment.input.problem.pairs[i];
    const double load = assignment.placement.loads[i];
    sums.use[pair.platform] += load * pair.cost;
    sums.jobs[pair.platform] += load > 0 ? 1 : 0;
  }
  return sums;
}

}  // namespace

void add_placement_rows(const Assignment& assignment, Table& table) {
  const std::string cost = cost_unit(assignment.input.unit);
  table.columns = {{"job", ""},
                   {"platform", ""},
                   {"load", "instructions/s"},
                   {"load_share", "share"},
                   {"cost", cost},
                   {"cost_margin", cost},
                   {"cost_kind", ""},
                   {"use", use_unit(assignment.input.unit)},
                   {"alternative", ""},
                   {"lead", cost},
                   {"lead_margin", cost},
                   {"certain", ""}};
  for (size_t i = 0; i < assignment.placement.loads.size(); ++i) {
    if (assignment.placement.loads[i] > 0) {
      table.rows.push_back(
          placement_row(assignment, assignment.input.problem.pairs[i], assignment.placement.loads[i]));
    }
  }
}

void add_platform_rows(const Assignment& assignment, Table& table) {
  const AssignmentInput& input = assignment.input;
  const std::string use = use_unit(input.unit);
  table.columns = {{"platform", ""},         {"capacity", use},   {"use", use},
                   {"use_share", "share"},   {"todays_use", use}, {"jobs", "count"},
                   {"shadow_price", "ratio"}};
  const PlatformSums sums = sums_of(assignment);
  const std::vector<double> todays_use = assignment.todays_use();
  for (size_t i = 0; i < input.platforms.size(); ++i) {
    const double capacity = input.problem.capacities[i];
    table.rows.push_back({input.platforms[i], capacity, sums.use[i], sums.use[i] / capacity,
                          assignment.has_today ? Value(todays_use[i]) : Value(), sums.jobs[i],
                          assignment.placement.prices[i]});
  }
}

void add_move_rows(const Assignment& assignment, Table& table) {
  const AssignmentInput& input = assignment.input;
  const std::string use = use_unit(input.unit);
  const std::string cost = cost_unit(input.unit);
  table.columns = {{"job", ""},     {"from", ""},           {"to", ""},     {"load", "instructions/s"},
                   {"saving", use}, {"saving_margin", use}, {"lead", cost}, {"lead_margin", cost},
                   {"certain", ""}};
  const auto times_load = [](std::optional<double> value, double load) {
    return value ? Value(*value * load) : Value();
  };
  for (const Move& move : assignment.moves()) {
    const bool is_known = assignment.find(move.job, move.from) != nullptr;
    table.rows.push_back({input.jobs[move.job], input.platforms[move.from], input.platforms[move.to],
                          move.load, times_load(move.saving, move.load),
                          times_load(move.saving_margin, move.load),
                          is_known ? Value(move.choice.lead) : Value(), value_of(move.choice.margin),
                          std::string(name_of(move.choice.certainty))});
  }
}

}  // namespace plimsoll::query
