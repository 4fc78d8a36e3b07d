#include "query/wsmeter/planning/plan_table.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "formats/csv.h"
#include "query/wsmeter/planning/effect_plan.h"

namespace plimsoll::query {
namespace {

// Where nobody says how many there are: more than anybody observes, and few enough for a double to count them.
constexpr int64_t kUnlimited = int64_t{1} << 50;

struct NamedJob {
  std::string name;
  double quota = 0;
  PlannedJob job;
};

// The columns of the text, by their places.
class Columns {
 public:
  explicit Columns(const formats::CsvTable& table) : table_(table) {}

  bool has(std::string_view name) const { return column(name).has_value(); }

  Result<double> number(const formats::CsvTable::Row& row, std::string_view name) const {
    const std::string& text = row.fields[place_of(name)];
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
    return is_number
               ? Result<double>(value)
               : fail(ErrorCode::kInvalid, "line {}: {} is to be a number, not \"{}\"", row.line, name, text);
  }

 private:
  // Quotas have the name that they have in other tables, too.
  std::optional<size_t> column(std::string_view name) const {
    const auto place = table_.column(name);
    return place || name != "quota" ? place : table_.column("quota_cores");
  }
  size_t place_of(std::string_view name) const { return column(name).value_or(0); }

  const formats::CsvTable& table_;
};

Status check_columns(const Columns& columns) {
  for (const std::string_view name : {"job", "quota", "mean", "stddev"}) {
    if (!columns.has(name)) {
      return with_hint(fail(ErrorCode::kInvalid, "no column is called \"{}\"", name),
                       "the first line names the columns: job,quota,mean,stddev,instances,cost");
    }
  }
  return {};
}

Status read_instances(const Columns& columns, const formats::CsvTable::Row& row, PlannedJob& job) {
  job.instances = kUnlimited;
  if (!columns.has("instances")) {
    return {};
  }
  const auto instances = columns.number(row, "instances");
  if (!instances) {
    return propagate(instances);
  }
  if (*instances < 1 || *instances > static_cast<double>(kUnlimited) ||
      std::floor(*instances) != *instances) {
    return fail(ErrorCode::kInvalid, "line {}: there are to be whole instances, at least 1, not {}", row.line,
                *instances);
  }
  job.instances = static_cast<int64_t>(*instances);
  return {};
}

Status read_cost(const Columns& columns, const formats::CsvTable::Row& row, double quota, PlannedJob& job) {
  if (columns.has("cost")) {
    const auto cost = columns.number(row, "cost");
    if (!cost) {
      return propagate(cost);
    }
    job.cost = *cost;
  } else if (columns.has("instances")) {
    job.cost = quota / static_cast<double>(job.instances);
  } else {
    return with_hint(
        fail(ErrorCode::kInvalid, "line {}: it is not said what observing an instance costs", row.line),
        "give the column cost, or instances, among which the quota is shared out");
  }
  return job.cost > 0
             ? Status()
             : fail(ErrorCode::kInvalid, "line {}: observing an instance costs {}, which is to be above 0",
                    row.line, job.cost);
}

Result<NamedJob> read_job(const Columns& columns, const formats::CsvTable& table,
                          const formats::CsvTable::Row& row) {
  NamedJob read;
  read.name = row.fields[table.column("job").value_or(0)];
  const auto quota = columns.number(row, "quota");
  const auto mean = columns.number(row, "mean");
  const auto deviation = columns.number(row, "stddev");
  for (const auto* number : {&quota, &mean, &deviation}) {
    if (!*number) {
      return propagate(*number);
    }
  }
  if (*quota < 0 || *mean <= 0 || *deviation < 0) {
    return fail(ErrorCode::kInvalid,
                "line {}: quota {} and stddev {} are not to be negative, and the mean, {}, is to be above 0",
                row.line, *quota, *deviation, *mean);
  }
  read.quota = *quota;
  read.job.deviation = *deviation / *mean;
  if (auto instances = read_instances(columns, row, read.job); !instances) {
    return propagate(instances);
  }
  if (auto cost = read_cost(columns, row, *quota, read.job); !cost) {
    return propagate(cost);
  }
  return read;
}

Result<std::vector<NamedJob>> read_jobs(std::string_view text) {
  const auto table = formats::read_csv(text);
  if (!table) {
    return propagate(table);
  }
  const Columns columns(*table);
  if (auto checked = check_columns(columns); !checked) {
    return propagate(checked);
  }
  std::vector<NamedJob> jobs;
  double all = 0;
  for (const formats::CsvTable::Row& row : table->rows) {
    auto job = read_job(columns, *table, row);
    if (!job) {
      return propagate(job);
    }
    all += job->quota;
    jobs.push_back(std::move(*job));
  }
  if (jobs.empty() || all <= 0) {
    return fail(ErrorCode::kInvalid, "there is no job with a quota");
  }
  for (NamedJob& job : jobs) {
    job.job.weight = job.quota / all;
  }
  return jobs;
}

std::string gap_note(const ObservationPlan& plan) {
  if (plan.is_optimal) {
    return "no plan of whole instances costs less";
  }
  return fmt::format("no plan costs less than {:.6g}, which is {:.3g} % less", plan.least_cost,
                     100 * (1 - plan.least_cost / plan.cost));
}

struct PlanWithMargin {
  ObservationPlan plan;
  double margin = 0;
};

Result<PlanWithMargin> plan_for_margin(std::span<const PlannedJob> jobs, const PlanRequest& request) {
  auto plan = plan_observations(jobs, {.deviation = request.margin / request.z,
                                       .least = request.least,
                                       .is_finite_population = request.is_finite_population,
                                       .rounding = request.rounding});
  if (!plan) {
    return propagate(plan, "planning for a margin of {:.4g} %", 100 * request.margin);
  }
  const double margin = plan->deviation * request.z;
  return PlanWithMargin{.plan = std::move(*plan), .margin = margin};
}

Result<PlanWithMargin> plan_of(std::span<const PlannedJob> jobs, const PlanRequest& request) {
  if (request.detect == 0) {
    return plan_for_margin(jobs, request);
  }
  auto plan = plan_for_effect(jobs, {.effect = request.detect,
                                     .power = request.power,
                                     .least = request.least,
                                     .is_finite_population = request.is_finite_population,
                                     .rounding = request.rounding});
  if (!plan) {
    return propagate(plan, "planning to find an effect of {:.4g} %", 100 * request.detect);
  }
  return PlanWithMargin{.plan = std::move(plan->plan), .margin = plan->margin};
}

}  // namespace

Result<Table> plan_table(std::string_view jobs_csv, const PlanRequest& request) {
  const auto jobs = read_jobs(jobs_csv);
  if (!jobs) {
    return propagate(jobs);
  }
  std::vector<PlannedJob> planned;
  for (const NamedJob& job : *jobs) {
    planned.push_back(job.job);
  }
  const auto plan = plan_of(planned, request);
  if (!plan) {
    return propagate(plan);
  }
  Table table;
  table.columns = {{"job", ""}, {"weight", "share"}, {"observe", "instances"}, {"cost", "cost"}};
  int64_t observed = 0;
  for (size_t i = 0; i < planned.size(); ++i) {
    const int64_t count = plan->plan.observe[i];
    observed += count;
    table.rows.push_back(
        {(*jobs)[i].name, planned[i].weight, count, planned[i].cost * static_cast<double>(count)});
  }
  table.notes.push_back(fmt::format("{} instances, which cost {:.6g}, for a margin of {:.4g} %", observed,
                                    plan->plan.cost, 100 * plan->margin));
  table.notes.push_back(gap_note(plan->plan));
  return table;
}

}  // namespace plimsoll::query
