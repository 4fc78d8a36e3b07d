#include "query/wsmeter/planning/plan_table.h"

#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "query/wsmeter/planning/budget_plan.h"
#include "query/wsmeter/planning/effect_plan.h"
#include "query/wsmeter/planning/planned_jobs.h"

namespace plimsoll::query {
namespace {

constexpr double kCurveStep = 0.8;
constexpr size_t kCurvePoints = 24;

std::vector<PlannedJob> planned(std::span<const NamedJob> jobs) {
  std::vector<PlannedJob> planned;
  planned.reserve(jobs.size());
  for (const NamedJob& job : jobs) {
    planned.push_back(job.planned);
  }
  return planned;
}

PlanGoal goal_of(const PlanRequest& request) {
  return {.deviation = request.margin / request.z,
          .min_instances = request.min_instances,
          .is_finite_population = request.is_finite_population,
          .rounding = request.rounding};
}

struct PlanWithMargin {
  ObservationPlan plan;
  double margin = 0;
  std::string gap;  // to the best plan there might be
};

std::string gap_note(const ObservationPlan& plan) {
  if (plan.is_optimal) {
    return "no plan of whole instances costs less";
  }
  return fmt::format("no plan costs less than {:.6g}, which is {:.3g} % less", plan.min_cost,
                     100 * (1 - plan.min_cost / plan.cost));
}

Result<PlanWithMargin> plan_for_margin(std::span<const PlannedJob> jobs, const PlanRequest& request) {
  auto plan = plan_observations(jobs, goal_of(request));
  if (!plan && plan.error().code == ErrorCode::kNotFound) {
    return with_hint(fail(ErrorCode::kNotFound,
                          "even observing all instances gives a margin of {:.3g} %, more than {:.4g} %",
                          100 * deviation_of_all(jobs) * request.z, 100 * request.margin),
                     "if these are all the instances that matter, give --finite");
  }
  if (!plan) {
    return propagate(plan, "planning for a margin of {:.4g} %", 100 * request.margin);
  }
  const double margin = plan->deviation * request.z;
  std::string gap = gap_note(*plan);
  return PlanWithMargin{.plan = std::move(*plan), .margin = margin, .gap = std::move(gap)};
}

Result<PlanWithMargin> plan_to_detect(std::span<const PlannedJob> jobs, const PlanRequest& request) {
  auto plan = plan_for_effect(jobs, {.effect = request.detect,
                                     .power = request.power,
                                     .min_instances = request.min_instances,
                                     .is_finite_population = request.is_finite_population,
                                     .rounding = request.rounding});
  if (!plan) {
    return propagate(plan, "planning to detect an effect of {:.4g} %", 100 * request.detect);
  }
  std::string gap = gap_note(plan->plan);
  return PlanWithMargin{.plan = std::move(plan->plan), .margin = plan->margin, .gap = std::move(gap)};
}

Result<PlanWithMargin> plan_within_budget(std::span<const PlannedJob> jobs, const PlanRequest& request) {
  auto plan = plan_for_budget(jobs, {.cost = request.budget,
                                     .min_instances = request.min_instances,
                                     .is_finite_population = request.is_finite_population,
                                     .rounding = request.rounding});
  if (!plan) {
    return propagate(plan, "planning with a budget of {:.6g}", request.budget);
  }
  const double margin = plan->plan.deviation * request.z;
  return PlanWithMargin{.plan = std::move(plan->plan),
                        .margin = margin,
                        .gap = fmt::format("no plan within the budget of {:.6g} has a margin below {:.4g} %",
                                           request.budget, 100 * plan->min_deviation * request.z)};
}

Result<PlanWithMargin> plan_of(std::span<const PlannedJob> jobs, const PlanRequest& request) {
  if (request.budget > 0) {
    return plan_within_budget(jobs, request);
  }
  return request.detect > 0 ? plan_to_detect(jobs, request) : plan_for_margin(jobs, request);
}

Status check(const PlanRequest& request) {
  for (const double number : {request.margin, request.z, request.detect, request.budget, request.power}) {
    if (!std::isfinite(number)) {
      return fail(ErrorCode::kInvalid, "{} is not a finite number", number);
    }
  }
  return {};
}

int64_t instances_of(const ObservationPlan& plan) {
  int64_t all = 0;
  for (const int64_t count : plan.observe) {
    all =
        count > std::numeric_limits<int64_t>::max() - all ? std::numeric_limits<int64_t>::max() : all + count;
  }
  return all;
}

void add_left_out(const PlannedTable& planned, std::vector<std::string>& notes) {
  if (!planned.left_out.empty()) {
    notes.push_back(fmt::format("left out, stddev is unknown: {} ({:.3g} % of the quota)",
                                fmt::join(planned.left_out, ", "), 100 * planned.left_out_share));
  }
}

}  // namespace

Result<Table> plan_table(std::string_view jobs_csv, const PlanRequest& request) {
  const auto checked = check(request);
  const auto read = checked ? read_planned_jobs(jobs_csv) : propagate(checked);
  if (!read) {
    return propagate(read);
  }
  const std::vector<NamedJob>& jobs = read->jobs;
  const auto plan = plan_of(planned(jobs), request);
  if (!plan) {
    return propagate(plan);
  }
  Table table;
  table.columns = {{"job", ""}, {"weight", "share"}, {"observe", "instances"}, {"cost", "cost"}};
  for (size_t i = 0; i < jobs.size(); ++i) {
    const NamedJob& job = jobs[i];
    const int64_t count = plan->plan.observe[i];
    table.rows.push_back(
        {job.name, job.planned.weight, count, job.planned.cost * static_cast<double>(count)});
  }
  table.notes = {fmt::format("{} instances at a cost of {:.6g}, for a margin of {:.4g} %",
                             instances_of(plan->plan), plan->plan.cost, 100 * plan->margin),
                 plan->gap};
  add_left_out(*read, table.notes);
  return table;
}

Result<MarginCurve> margin_curve(std::string_view jobs_csv, const PlanRequest& request) {
  const auto checked = check(request);
  const auto read = checked ? read_planned_jobs(jobs_csv) : propagate(checked);
  if (!read) {
    return propagate(read);
  }
  const auto curve = plan_curve(planned(read->jobs), goal_of(request), kCurveStep, kCurvePoints);
  if (!curve) {
    return propagate(curve);
  }
  MarginCurve made;
  for (const ObservationPlan& plan : *curve) {
    made.points.push_back({.margin = plan.deviation * request.z,
                           .instances = instances_of(plan),
                           .cost = plan.cost,
                           .min_cost = plan.min_cost});
  }
  if (curve->size() < kCurvePoints && curve->back().deviation > 0) {
    made.notes.emplace_back("narrower margins need more instances than exist");
  }
  add_left_out(*read, made.notes);
  return made;
}

Table table_of(const MarginCurve& curve) {
  Table table;
  table.notes = curve.notes;
  table.columns = {{"margin", "share"}, {"instances", ""}, {"cost", "cost"}, {"min_cost", "cost"}};
  for (const MarginCurve::Point& point : curve.points) {
    table.rows.push_back({point.margin, point.instances, point.cost, point.min_cost});
  }
  return table;
}

}  // namespace plimsoll::query
