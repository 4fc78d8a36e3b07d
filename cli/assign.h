// `plimsoll assign`: which job belongs on which platform. Works on tables, without a store.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "query/placement/assignment_table.h"
#include "query/table/table.h"

namespace plimsoll::cli {

struct AssignOptions {
  // CSV files; "-", for one of them, is standard input.
  std::string costs;
  std::string jobs;
  std::string platforms;
  std::string today;  // empty: none
  std::optional<double> unknown_at_most = {};
  query::AssignmentRows rows = query::AssignmentRows::kPlacement;
  query::TableForm form = query::TableForm::kText;
};
Status run_assign(const AssignOptions& options);

}  // namespace plimsoll::cli
