#include "query/wsmeter/observed/job_quotas.h"

#include <cmath>
#include <set>
#include <utility>

#include "query/table/values.h"
#include "query/wsmeter/observed/columns.h"

namespace plimsoll::query {
namespace {

// What doubles still count.
constexpr double kMaxInstances = 0x1p50;

struct JobColumns {
  Column job;
  Column quota;
  Column instances;
  Column cost;
};

Status read_instances(const JobColumns& columns, const formats::CsvTable::Row& row, JobQuota& job) {
  if (!columns.instances.is_there() || columns.instances.text(row).empty()) {
    return {};
  }
  const auto instances = columns.instances.number(row);
  if (!instances) {
    return propagate(instances);
  }
  if (*instances < 1 || *instances > kMaxInstances || std::floor(*instances) != *instances) {
    return fail(ErrorCode::kInvalid, "line {}: instances must be a whole number from 1, is {}", row.line,
                *instances);
  }
  job.instances = static_cast<int64_t>(*instances);
  return {};
}

Status read_cost(const JobColumns& columns, const formats::CsvTable::Row& row, JobQuota& job) {
  if (!columns.cost.is_there() || columns.cost.text(row).empty()) {
    return {};
  }
  const auto cost = columns.cost.number(row);
  if (!cost) {
    return propagate(cost);
  }
  if (*cost <= 0) {
    return fail(ErrorCode::kInvalid, "line {}: cost is {}, must be above 0", row.line, *cost);
  }
  job.cost = *cost;
  return {};
}

Result<JobQuota> read_job(const JobColumns& columns, const formats::CsvTable::Row& row) {
  JobQuota job;
  job.job = columns.job.text(row);
  const auto quota = columns.quota.text(row).empty() ? Result<double>(0) : columns.quota.number(row);
  if (!quota) {
    return propagate(quota);
  }
  if (*quota < 0) {
    return fail(ErrorCode::kInvalid, "line {}: the quota of {} is {}, must not be negative", row.line,
                job.job, *quota);
  }
  job.quota = *quota;
  if (auto instances = read_instances(columns, row, job); !instances) {
    return propagate(instances);
  }
  if (auto cost = read_cost(columns, row, job); !cost) {
    return propagate(cost);
  }
  return job;
}

Status check_columns(const JobColumns& columns) {
  const std::string hint = "the first line must name the columns: job,quota and optionally instances,cost";
  auto checked = columns.job.require(hint);
  return checked ? columns.quota.require(hint) : checked;
}

Status check_sum(double all) {
  if (!(all > 0)) {
    return fail(ErrorCode::kInvalid, "no job has a quota");
  }
  return std::isfinite(all) ? Status() : fail(ErrorCode::kInvalid, "the sum of the quotas is too large");
}

}  // namespace

Result<std::vector<JobQuota>> read_job_quotas(std::string_view content) {
  const auto table = read_table(content);
  return table ? job_quotas_of(*table) : propagate(table);
}

Result<std::vector<JobQuota>> job_quotas_of(const formats::CsvTable& table) {
  const JobColumns columns{
      .job = Column(table, {"job"}),
      .quota = Column(table, {"quota", "quota_cores", "quota_cpus", "cpu_quota", "weight"}),
      .instances = Column(table, {"instances"}),
      .cost = Column(table, {"cost"})};
  if (auto checked = check_columns(columns); !checked) {
    return propagate(checked);
  }
  std::vector<JobQuota> jobs;
  double all = 0;
  std::set<std::string> seen;
  for (const formats::CsvTable::Row& row : table.rows) {
    auto job = read_job(columns, row);
    if (!job) {
      return propagate(job);
    }
    if (!seen.insert(job->job).second) {
      return fail(ErrorCode::kInvalid, "line {}: job {} is listed twice", row.line, job->job);
    }
    all += job->quota;
    jobs.push_back(std::move(*job));
  }
  auto checked = check_sum(all);
  return checked ? Result<std::vector<JobQuota>>(std::move(jobs)) : propagate(checked);
}

Result<std::vector<JobQuota>> job_quotas_in(const Table& jobs) {
  const auto name = find_column(jobs, "job");
  const auto quota = name ? find_column(jobs, "cpu_quota") : name;
  const auto instances = quota ? find_column(jobs, "instances") : quota;
  if (!instances) {
    return propagate(instances);
  }
  std::vector<JobQuota> quotas;
  double all = 0;
  for (const std::vector<Value>& row : jobs.rows) {
    const auto* const count = std::get_if<int64_t>(&row[*instances]);
    JobQuota job{.job = text_in(row[*name]), .quota = number_in(row[*quota]).value_or(0)};
    if (!(job.quota >= 0) || count == nullptr || *count < 1) {
      return fail(ErrorCode::kCorrupt, "the job {} has no quota of at least 0, or no instances", job.job);
    }
    job.instances = *count;
    all += job.quota;
    quotas.push_back(std::move(job));
  }
  auto checked = check_sum(all);
  return checked ? Result<std::vector<JobQuota>>(std::move(quotas)) : propagate(checked);
}

}  // namespace plimsoll::query
