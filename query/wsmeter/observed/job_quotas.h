// The jobs of a fleet and the CPU quota that each has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/csv.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct JobQuota {
  std::string job;
  double quota = 0;  // of all its instances together, in any unit; 0 (an empty field): it does not count
  std::optional<int64_t> instances = {};  // at least 1; nothing: as many as were observed
  std::optional<double> cost = {};        // of observing one instance, above 0; nothing: its quota
};

// A CSV text, gzipped or not, with the columns job and quota (or quota_cores, quota_cpus, cpu_quota, weight), and perhaps instances and cost; others are
// passed over. kInvalid, with the line, for quotas that are negative or no numbers, and for a job given twice; also where no job has a quota.
Result<std::vector<JobQuota>> read_job_quotas(std::string_view content);
// The same of a table that was read: a job for each of its rows.
Result<std::vector<JobQuota>> job_quotas_of(const formats::CsvTable& table);
// The same of what the view `jobs` answers. kCorrupt where that is not its answer: a server may be of another version.
Result<std::vector<JobQuota>> job_quotas_in(const Table& jobs);

}  // namespace plimsoll::query
