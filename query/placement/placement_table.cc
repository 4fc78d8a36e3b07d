#include "query/placement/placement_table.h"

#include "query/placement/placement_parts.h"

namespace plimsoll::query {
namespace {

Result<PlacementPlan> plan_for(const PlacementRequest& request) {
  auto input = placement_input(request.tables, request.max_unknown_cost);
  if (!input) {
    return propagate(input);
  }
  if (!input->lost_jobs.empty()) {
    return fail_lost(*input);
  }
  PlacementPlan plan;
  plan.input = std::move(*input);
  if (request.tables.today) {
    auto today = todays_loads(*request.tables.today, plan.input);
    if (!today) {
      return propagate(today);
    }
    plan.today = std::move(*today);
    plan.has_today = true;
  }
  auto outcome = place_jobs(plan.input.problem);
  if (!outcome) {
    return propagate(outcome);
  }
  if (const auto* shortage = std::get_if<Shortage>(&*outcome)) {
    return fail_short(plan.input, *shortage);
  }
  plan.placement = std::get<Placement>(std::move(*outcome));
  plan.first_pairs = plan.input.problem.first_pairs();
  return plan;
}

}  // namespace

Result<Table> placement_table(const PlacementRequest& request) {
  const bool needs_today = request.rows == PlacementRows::kMove || request.rows == PlacementRows::kSummary;
  if (needs_today && !request.tables.today) {
    return with_hint(fail(ErrorCode::kInvalid, "--by move requires today's placement"), "give --today FILE");
  }
  const auto plan = plan_for(request);
  if (!plan) {
    return propagate(plan);
  }
  Table table;
  switch (request.rows) {
    case PlacementRows::kPlacement:
      add_placement_rows(*plan, table);
      break;
    case PlacementRows::kPlatform:
      add_platform_rows(*plan, table);
      break;
    case PlacementRows::kMove:
      add_move_rows(*plan, table);
      break;
    case PlacementRows::kSummary:
      add_summary_row(*plan, table);
      break;
  }
  table.notes = placement_notes(*plan, request.max_unknown_cost);
  return table;
}

}  // namespace plimsoll::query
