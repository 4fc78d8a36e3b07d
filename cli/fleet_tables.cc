#include "cli/fleet_tables.h"

#include <CLI/CLI.hpp>

#include "base/file.h"
#include "cli/views/flags.h"

namespace plimsoll::cli {
namespace {

// Ten million jobs.
constexpr size_t kMaxTableBytes = size_t{1} << 30;

// The notes go with it: what was left out must not be lost.
Result<FleetInput> from_rows(const FleetTables& tables) {
  const auto observations = ask_observations(tables.rows);
  return observations ? Result<FleetInput>(FleetInput{
                            .fleet = {.performance = query::performance_of(*observations), .jobs = {}},
                            .notes = observations->notes})
                      : propagate(observations);
}

Result<FleetInput> from_file(const FleetTables& tables) {
  if (!tables.rows.parameters.empty()) {
    return with_hint(
        fail(ErrorCode::kInvalid, "filters and --ratio do not apply to --performance, which is a table"),
        "use --data or --server, or remove the filters");
  }
  const auto text = read_table_file(tables.performance);
  if (!text) {
    return propagate(text);
  }
  auto performance = query::read_performance(*text);
  return performance ? Result<FleetInput>(FleetInput{
                           .fleet = {.performance = std::move(*performance), .jobs = {}}, .notes = {}})
                     : propagate(performance, "the table of performance");
}

Result<std::vector<query::JobQuota>> quotas_from_file(const std::string& path) {
  const auto text = read_table_file(path);
  if (!text) {
    return propagate(text);
  }
  auto quotas = query::read_job_quotas(*text);
  return quotas ? std::move(quotas) : propagate(quotas, "the table of jobs");
}

}  // namespace

Result<std::string> read_table_file(const std::string& path) {
  auto text = read_file(path == "-" ? "/dev/stdin" : path, kMaxTableBytes);
  return text ? std::move(text) : propagate(text, "reading a table");
}

Result<query::Observations> ask_observations(const TableOptions& asked) {
  const auto table = ask_table("observations", asked);
  return table ? query::observations_in(*table) : propagate(table);
}

Result<std::vector<query::JobQuota>> read_quotas(const std::string& path, const AnswerSource& source) {
  if (!path.empty()) {
    return quotas_from_file(path);
  }
  if (!is_named(source)) {
    return with_hint(fail(ErrorCode::kInvalid, "CPU quotas of jobs are missing"),
                     "give --jobs FILE, --data DIR or --server ADDR");
  }
  TableOptions all;  // whatever is selected of performance
  all.source = source;
  all.parameters = {{"limit", "1000000"}};
  const auto jobs = ask_table("jobs", all);
  if (!jobs) {
    return propagate(jobs);
  }
  if (jobs->rows.empty()) {
    return with_hint(fail(ErrorCode::kNotFound, "no CPU quotas reported: {}",
                          jobs->notes.empty() ? "no daemon has reported one" : jobs->notes.front()),
                     "give quotas with --jobs FILE");
  }
  auto quotas = query::job_quotas_in(*jobs);
  return quotas ? std::move(quotas) : propagate(quotas, "the table of jobs");
}

void add_fleet_tables(CLI::App& command, FleetTables& tables) {
  command
      .add_option("--performance", tables.performance,
                  "CSV (may be gzipped) with the columns platform, job, instance, performance (\"-\": "
                  "standard input); or give --data or --server")
      ->type_name("FILE");
  command
      .add_option("--jobs", tables.jobs,
                  "CSV with the columns job, quota, and optionally instances, cost (with --data or --server: "
                  "instead of the quotas that daemons report)")
      ->type_name("FILE");
  add_source(command, tables.rows.source, [&tables] { return tables.performance.empty(); });
  add_filters(command, tables.rows.parameters);
  add_parameter(command, "--ratio", "ratio", tables.rows.parameters,
                "With --data or --server: the performance metric, two events or ipc (default), exact-ipc; "
                "higher is better")
      ->type_name("NUM/DEN");
  command.get_option("--performance")->excludes("--data")->excludes("--server");
}

Result<FleetInput> read_fleet_tables(const FleetTables& tables) {
  const AnswerSource& source = tables.rows.source;
  if (tables.performance.empty() && !is_named(source)) {
    return with_hint(fail(ErrorCode::kInvalid, "performance data is missing"),
                     "give --performance FILE and --jobs FILE, --data DIR, or --server ADDR");
  }
  auto input = tables.performance.empty() ? from_rows(tables) : from_file(tables);
  if (!input) {
    return input;
  }
  auto quotas = read_quotas(tables.jobs, source);
  if (!quotas) {
    return propagate(quotas);
  }
  input->fleet.jobs = std::move(*quotas);
  return input;
}

}  // namespace plimsoll::cli
