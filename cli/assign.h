// `plimsoll assign`: which job belongs on which platform. Works on tables, or on what was measured.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/views/commands.h"
#include "query/placement/placement_table.h"
#include "query/table/table.h"

namespace plimsoll::cli {

struct AssignOptions {
  // CSV files; "-", for one of them, is standard input. Costs, jobs and today that are empty are as they were measured, where `measured` says of whom.
  std::string costs;
  std::string jobs;
  std::string platforms;
  std::string today;
  TableOptions measured;            // parameters: those of query::parse_measured_pairs()
  bool is_measured_wanted = false;  // what was measured is shown, in place of a plan
  std::optional<double> max_unknown_cost = {};
  query::PlacementRows rows = query::PlacementRows::kPlacement;
  query::TableForm form = query::TableForm::kText;
};
Status run_assign(const AssignOptions& options);

}  // namespace plimsoll::cli
