// The two things that WSMeter takes, how fast instances ran and which quotas jobs have: from files, or from a data directory's or a
// server's rows.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/views/commands.h"
#include "query/wsmeter/observed/observed_fleet.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

struct FleetTables {
  // CSV files, gzipped or not, "-" for standard input; empty: `rows` is asked.
  std::string performance;
  std::string jobs;
  TableOptions rows;  // parameters: those of query::parse_observations()
};

struct FleetInput {
  query::ObservedFleet fleet;
  std::vector<std::string> notes;  // of what was asked: a reader should know them
};

// --performance and --jobs, or --data or --server with filters and --ratio.
void add_fleet_tables(CLI::App& command, FleetTables& tables);

Result<FleetInput> read_fleet_tables(const FleetTables& tables);

// The quotas of jobs alone: of a file, or, where none is named, those that daemons report.
Result<std::vector<query::JobQuota>> read_quotas(const std::string& path, const AnswerSource& source);

// What the view `observations` answers.
Result<query::Observations> ask_observations(const TableOptions& asked);

// A GiB at most.
Result<std::string> read_table_file(const std::string& path);

}  // namespace plimsoll::cli
