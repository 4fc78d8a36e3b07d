#include "cli/fleet_tables.h"

#include <CLI/CLI.hpp>

#include "base/file.h"
#include "cli/views/flags.h"

namespace plimsoll::cli {
namespace {

// Ten million jobs.
constexpr size_t kMaxTableBytes = size_t{1} << 30;

Result<std::string> csv_of(const Result<query::Table>& table) {
  return table ? query::to_csv(*table) : Result<std::string>(propagate(table));
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
    return with_hint(fail(ErrorCode::kInvalid, "it is not said which quotas jobs have"),
                     "give --jobs FILE, or --data DIR, or --server ADDR");
  }
  TableOptions all;  // whatever is selected of performance
  all.source = source;
  all.parameters = {{"limit", "1000000"}};
  return csv_of(ask_jobs(all));
}

void add_fleet_tables(CLI::App& command, FleetTables& tables) {
  command
      .add_option("--performance", tables.performance,
                  "CSV, gzipped or not, with the columns platform, job, instance, performance (\"-\": "
                  "standard input); in its place --data or --server")
      ->type_name("FILE");
  command
      .add_option(
          "--jobs", tables.jobs,
          "CSV with the columns job, quota and perhaps instances, cost (with --data or --server: in place of "
          "the quotas that daemons tell)")
      ->type_name("FILE");
  add_source(command, tables.rows.source);
  add_filters(command, tables.rows.parameters);
  add_parameter(command, "--ratio", "ratio", tables.rows.parameters,
                "With --data or --server: what performance is, two events or ipc (default), exact-ipc; "
                "higher is better")
      ->type_name("NUM/DEN");
  command.get_option("--performance")->excludes("--data")->excludes("--server");
}

Result<TableTexts> read_fleet_tables(const FleetTables& tables) {
  const AnswerSource& source = tables.rows.source;
  if (tables.performance.empty() && !is_named(source)) {
    return with_hint(fail(ErrorCode::kInvalid, "it is not said where performance comes from"),
                     "give --performance FILE and --jobs FILE, or --data DIR, or --server ADDR");
  }
  auto performance = tables.performance.empty() ? csv_of(ask_observations(tables.rows))
                                                : read_table_file(tables.performance);
  if (!performance) {
    return propagate(performance);
  }
  auto jobs = read_jobs_table(tables.jobs, source);
  if (!jobs) {
    return propagate(jobs);
  }
  return TableTexts{.performance = std::move(*performance), .jobs = std::move(*jobs)};
}

}  // namespace plimsoll::cli
