// `plimsoll wsmeter`: what a change is worth, decided with the fewest machines. Works on tables, without a store.
#pragma once

#include <string>

#include "base/result.h"
#include "query/table/table.h"
#include "query/wsmeter/planning/plan_table.h"

namespace plimsoll::cli {

struct WsmeterPlanOptions {
  std::string table;  // a CSV file, "-" for standard input
  query::PlanRequest request;
  query::TableForm form = query::TableForm::kText;
};
Status run_wsmeter_plan(const WsmeterPlanOptions& options);

}  // namespace plimsoll::cli
