#include "query/placement/placement_parts.h"

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

std::vector<Value> placement_row(const PlacementPlan& plan, const Pair& pair, double load) {
  const PlacementInput& input = plan.input;
  const PlacementChoice over_all = choice_over_all(pair, plan.pairs_of(pair.job), plan.placement.prices);
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

PlatformSums sums_of(const PlacementPlan& plan) {
  PlatformSums sums{.use = std::vector<double>(plan.input.platforms.size()),
                    .jobs = std::vector<int64_t>(plan.input.platforms.size())};
  for (size_t i = 0; i < plan.placement.loads.size(); ++i) {
    const Pair& pair = plan.input.problem.pairs[i];
    const double load = plan.placement.loads[i];
    sums.use[pair.platform] += load * pair.cost;
    sums.jobs[pair.platform] += load > 0 ? 1 : 0;
  }
  return sums;
}

}  // namespace

void add_placement_rows(const PlacementPlan& plan, Table& table) {
  const std::string cost = cost_unit(plan.input.unit);
  table.columns = {{"job", ""},
                   {"platform", ""},
                   {"load", "instructions/s"},
                   {"load_share", "share"},
                   {"cost", cost},
                   {"cost_margin", cost},
                   {"cost_kind", ""},
                   {"capacity_used", use_unit(plan.input.unit)},
                   {"alternative", ""},
                   {"cost_advantage", cost},
                   {"cost_advantage_margin", cost},
                   {"certain", ""}};
  for (size_t i = 0; i < plan.placement.loads.size(); ++i) {
    if (plan.placement.loads[i] > 0) {
      table.rows.push_back(placement_row(plan, plan.input.problem.pairs[i], plan.placement.loads[i]));
    }
  }
}

void add_platform_rows(const PlacementPlan& plan, Table& table) {
  const PlacementInput& input = plan.input;
  const std::string use = use_unit(input.unit);
  table.columns = {{"platform", ""},
                   {"capacity", use},
                   {"capacity_used", use},
                   {"capacity_used_share", "share"},
                   {"todays_capacity_used", use},
                   {"jobs", "count"},
                   {"shadow_price", "ratio"}};
  const PlatformSums sums = sums_of(plan);
  const std::vector<double> todays_use = plan.todays_use();
  for (size_t i = 0; i < input.platforms.size(); ++i) {
    const double capacity = input.problem.capacities[i];
    table.rows.push_back({input.platforms[i], capacity, sums.use[i], sums.use[i] / capacity,
                          plan.has_today ? Value(todays_use[i]) : Value(), sums.jobs[i],
                          plan.placement.prices[i]});
  }
}

void add_move_rows(const PlacementPlan& plan, Table& table) {
  const PlacementInput& input = plan.input;
  const std::string use = use_unit(input.unit);
  const std::string cost = cost_unit(input.unit);
  table.columns = {{"job", ""},
                   {"from", ""},
                   {"to", ""},
                   {"load", "instructions/s"},
                   {"saving", use},
                   {"saving_margin", use},
                   {"cost_advantage", cost},
                   {"cost_advantage_margin", cost},
                   {"certain", ""}};
  const auto times_load = [](std::optional<double> value, double load) {
    return value ? Value(*value * load) : Value();
  };
  for (const Move& move : plan.moves()) {
    const bool is_known = plan.find(move.job, move.from) != nullptr;
    table.rows.push_back({input.jobs[move.job], input.platforms[move.from], input.platforms[move.to],
                          move.load, times_load(move.saving, move.load),
                          times_load(move.saving_margin, move.load),
                          is_known ? Value(move.choice.lead) : Value(), value_of(move.choice.margin),
                          std::string(name_of(move.choice.certainty))});
  }
}

void add_summary_row(const PlacementPlan& plan, Table& table) {
  const std::string use = use_unit(plan.input.unit);
  table.columns = {{"todays_cost", use},       {"planned_cost", use},  {"saving", use},
                   {"saving_margin", use},     {"saving_low", use},    {"saving_high", use},
                   {"saving_share", "share"},  {"jobs", "count"},      {"moves", "count"},
                   {"certain_moves", "count"}, {"certain_saving", use}};
  int64_t moves = 0;
  int64_t certain = 0;
  double certain_saving = 0;
  for (const Move& move : plan.moves()) {
    const bool is_certain = move.choice.certainty == Certainty::kYes;
    ++moves;
    certain += is_certain ? 1 : 0;
    certain_saving += is_certain ? move.saving.value_or(0) * move.load : 0;
  }
  const double cost = plan.placement.cost;
  std::vector<Value> row{Value(), cost, Value(), Value(), Value(), Value(), Value()};
  if (const auto saving = plan.saving()) {
    const double todays = cost + saving->value;
    row = {todays, cost, saving->value, value_of(saving->margin), Value(), Value(), saving->value / todays};
    if (saving->margin) {
      row[4] = saving->value - *saving->margin;
      row[5] = saving->value + *saving->margin;
    }
  }
  row.insert(row.end(), {static_cast<int64_t>(plan.input.jobs.size()), moves, certain, certain_saving});
  table.rows.push_back(std::move(row));
}

}  // namespace plimsoll::query
