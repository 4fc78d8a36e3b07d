#include "cli/fleet_tables.h"

#include <CLI/CLI.hpp>

#include "base/file.h"
#include "cli/views/flags.h"

namespace plimsoll::cli {
namespace {

// Ten million jobs.
constexpr size_t kMaxTableBytes = size_t{1} << 30;

// The notes go with the text: what was left out of a table must not be lost.
Result<TableTexts> from_rows(const FleetTables& tables) {
  const auto observations = ask_table("observations", tables.rows);
  return observations
             ? Result<TableTexts>(TableTexts{
                   .performance = query::to_csv(*observations), .jobs = {}, .notes = observations->notes})
             : propagate(observations);
}

Result<TableTexts> from_file(const FleetTables& tables) {
  if (!tables.rows.parameters.empty()) {
    return with_hint(
        fail(ErrorCode::kInvalid, "filters and --ratio do not apply to --performance, which is a table"),
        "use --data or --server, or remove the filters");
  }
  auto performance = read_table_file(tables.performance);
  return performance
             ? Result<TableTexts>(TableTexts{.performance = std::move(*performance), .jobs = {}, .notes = {}})
             : propagate(performance);
}

}  // namespace

Result<std::string> read_table_file(const std::string& path) {
  auto text = read_file(path == "-" ? "/dev/stdin" : path, kMaxTableBytes);
  return text ? std::move(text) : propagate(text, "reading a table");
}

Result<std::string> read_jobs_table(const std::string& path, const AnswerSource& source) {
  if (!path.empty()) {
    return read_table_file(path);
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
  return query::to_csv(*jobs);
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

Result<TableTexts> read_fleet_tables(const FleetTables& tables) {
  const AnswerSource& source = tables.rows.source;
  if (tables.performance.empty() && !is_named(source)) {
    return with_hint(fail(ErrorCode::kInvalid, "performance data is missing"),
                     "give --performance FILE and --jobs FILE, --data DIR, or --server ADDR");
  }
  auto texts = tables.performance.empty() ? from_rows(tables) : from_file(tables);
  if (!texts) {
    return propagate(texts);
  }
  auto jobs = read_jobs_table(tables.jobs, source);
  if (!jobs) {
    return propagate(jobs);
  }
  texts->jobs = std::move(*jobs);
  return texts;
}

}  // namespace plimsoll::cli
