#include "query/wsmeter/planning/planned_jobs.h"

#include "query/wsmeter/observed/columns.h"
#include "query/wsmeter/observed/job_quotas.h"

namespace plimsoll::query {
namespace {

// Where nobody says how many there are: more than anybody observes, and few enough for a double to count them.
constexpr int64_t kUnlimited = int64_t{1} << 50;
// Deviations whose squares are numbers.
constexpr double kMaxRelative = 1e100;

struct PerformanceColumns {
  Column mean;
  Column deviation;
};

// Of one instance, as a share of the mean.
Result<double> read_deviation(const PerformanceColumns& columns, const formats::CsvTable::Row& row) {
  const auto mean = columns.mean.number(row);
  const auto deviation = columns.deviation.number(row);
  if (!mean || !deviation) {
    return propagate(!mean ? mean : deviation);
  }
  if (*mean <= 0 || *deviation < 0 || *deviation / *mean > kMaxRelative) {
    return fail(ErrorCode::kInvalid,
                "line {}: mean is {}, must be above 0; stddev is {}, must not be negative or over 1e100 "
                "times the mean",
                row.line, *mean, *deviation);
  }
  return *deviation / *mean;
}

Result<double> cost_of(const JobQuota& job, size_t line) {
  if (job.cost) {
    return *job.cost;
  }
  if (!job.instances) {
    return with_hint(fail(ErrorCode::kInvalid, "line {}: the cost of observing an instance is missing", line),
                     "add a column cost, or a column instances, which divide the quota");
  }
  const double cost = job.quota / static_cast<double>(*job.instances);
  return cost > 0 ? Result<double>(cost)
                  : with_hint(fail(ErrorCode::kInvalid, "line {}: a job without quota has no cost", line),
                              "remove the job, or add a column cost");
}

}  // namespace

Result<PlannedTable> read_planned_jobs(std::string_view content) {
  const auto table = read_table(content);
  if (!table) {
    return propagate(table);
  }
  const auto quotas = job_quotas_of(*table);
  if (!quotas) {
    return propagate(quotas);
  }
  const PerformanceColumns columns{.mean = Column(*table, {"mean"}), .deviation = Column(*table, {"stddev"})};
  for (const Column* column : {&columns.mean, &columns.deviation}) {
    auto is_there =
        column->require("the first line must name the columns: job,quota,mean,stddev,instances,cost");
    if (!is_there) {
      return propagate(is_there);
    }
  }
  PlannedTable planned;
  double all = 0;
  double left = 0;
  for (size_t i = 0; i < quotas->size(); ++i) {
    const JobQuota& job = (*quotas)[i];
    const formats::CsvTable::Row& row = table->rows[i];
    all += job.quota;
    if (columns.deviation.text(row).empty()) {
      planned.left_out.push_back(job.job);
      continue;
    }
    left += job.quota;
    const auto deviation = read_deviation(columns, row);
    const auto cost = deviation ? cost_of(job, row.line) : deviation;
    if (!cost) {
      return propagate(cost);
    }
    planned.jobs.push_back({.name = job.job,
                            .planned = {.weight = job.quota,
                                        .deviation = *deviation,
                                        .instances = job.instances.value_or(kUnlimited),
                                        .cost = *cost}});
  }
  if (left <= 0) {
    return fail(ErrorCode::kInvalid, "no job has a quota and a stddev");
  }
  for (NamedJob& job : planned.jobs) {
    job.planned.weight /= left;
  }
  planned.left_out_share = 1 - left / all;
  return planned;
}

}  // namespace plimsoll::query
