// `plimsoll wsmeter plan`: from a table of jobs to a table of how many instances of each to observe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/table/table.h"
#include "query/wsmeter/planning/observation_plan.h"

namespace plimsoll::query {

struct PlanRequest {
  double margin = 0;  // that the metric is to have, as a share of it, above 0
  double z = 1.96;    // margin / deviation: 1.96 for 95 %
  // In place of a margin, one of these; 0: it is not asked for.
  double detect = 0;  // an effect that is to be found (plan_for_effect()), which takes no z
  double budget = 0;  // that is to be spent for the best margin (plan_for_budget())
  double power = 0.95;
  int64_t min_instances = 4;
  bool is_finite_population = false;
  Rounding rounding = Rounding::kMinCost;
};

// A row for each job of a CSV text as read_planned_jobs() takes it, in its order: job, weight, observe, cost (of all that are observed). Notes say what the plan
// costs, which margin it has, and by how much a better one could be cheaper, or narrower. kInvalid for what makes no sense, with the line.
Result<Table> plan_table(std::string_view jobs_csv, const PlanRequest& request);

// What margins cost: some twenty plans, from the loosest, the least of each job, on, each with a margin a fifth narrower than that before, until
// all instances do not suffice.
struct MarginCurve {
  struct Point {
    double margin = 0;
    int64_t instances = 0;
    double cost = 0;
    double min_cost = 0;  // below which no plan has that margin
  };
  std::vector<Point> points = {};
  std::vector<std::string> notes = {};
};
// Errors as plan_table() has them.
Result<MarginCurve> margin_curve(std::string_view jobs_csv, const PlanRequest& request);
// margin, instances, cost, min_cost
Table table_of(const MarginCurve& curve);

}  // namespace plimsoll::query
