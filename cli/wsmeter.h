// `plimsoll wsmeter`: what a change is worth, decided with the fewest machines. Works on tables, or on a store's rows.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/fleet_tables.h"
#include "query/table/table.h"
#include "query/wsmeter/baseline/baseline_table.h"
#include "query/wsmeter/construction/cluster_table.h"
#include "query/wsmeter/evaluation/evaluation_table.h"
#include "query/wsmeter/planning/plan_table.h"
#include "query/wsmeter/validation/validation.h"

namespace plimsoll::cli {

struct WsmeterPlanOptions {
  std::string table;  // a CSV file, "-" for standard input
  query::PlanRequest request;
  bool is_curve = false;  // what margins cost, in place of a plan
  std::string
      svg;  // a file for a plot of the curve, "-" for standard output in place of the table; empty: none
  query::TableForm form = query::TableForm::kText;
};

struct WsmeterBaselineOptions {
  FleetTables tables;
  query::BaselineRequest request;
  std::string svg;  // a file for a plot of the coverage, as above
  query::TableForm form = query::TableForm::kText;
};

struct WsmeterEvaluateOptions {
  FleetTables tables;
  std::string test;  // empty: the new platform's observations are in `tables.performance`
  query::EvaluationRequest request;
  query::TableForm form = query::TableForm::kText;
};

struct WsmeterValidateOptions {
  FleetTables tables;
  query::ValidationRequest request;  // but for its goal, which is one of these
  double margin = 0;                 // 0: --detect is given
  double detect = 0;
  double power = 0.95;
  query::TableForm form = query::TableForm::kText;
};

struct WsmeterClusterOptions {
  FleetTables tables;
  query::ClusterRequest request;
  query::TableForm form = query::TableForm::kText;
};

struct WsmeterOptions {
  TableOptions observations;
  WsmeterPlanOptions plan;
  WsmeterBaselineOptions baseline;
  WsmeterEvaluateOptions evaluate;
  WsmeterValidateOptions validate;
  WsmeterClusterOptions cluster;
};

Status run_wsmeter_plan(const WsmeterPlanOptions& options);
Status run_wsmeter_baseline(const WsmeterBaselineOptions& options);
Status run_wsmeter_evaluate(const WsmeterEvaluateOptions& options);
Status run_wsmeter_validate(const WsmeterValidateOptions& options);
Status run_wsmeter_cluster(const WsmeterClusterOptions& options);

}  // namespace plimsoll::cli
