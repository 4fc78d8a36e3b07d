// `plimsoll experiment`: whether a feature is worth it, from its definition to a report.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/views/answer_source.h"
#include "config/experiment_config.h"
#include "query/table/table.h"

namespace plimsoll::cli {

struct ExperimentOptions {
  std::string file;  // that defines it, in TOML
  AnswerSource source;
  std::string jobs;  // a CSV file of quotas; empty: those that daemons tell
};

struct ExperimentDefineOptions {
  std::string file;
  config::ExperimentConfig config;
};

struct ExperimentPlanOptions {
  ExperimentOptions experiment;
  std::string since;  // of the control by which it is planned; empty: a week before the test
  query::TableForm form = query::TableForm::kText;
};

struct ExperimentWatchOptions {
  ExperimentOptions experiment;
  int64_t every_s = 60;
  bool once = false;
  query::TableForm form = query::TableForm::kText;
};

struct ExperimentReportOptions {
  ExperimentOptions experiment;
  bool as_json = false;
};

// Writes the file, which is not there yet.
Status run_experiment_define(const ExperimentDefineOptions& options);
Status run_experiment_plan(const ExperimentPlanOptions& options);
// Says how far it is, again and again, until all that is wanted was observed.
Status run_experiment_watch(const ExperimentWatchOptions& options);
Status run_experiment_report(const ExperimentReportOptions& options);

}  // namespace plimsoll::cli
