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
  std::string file;  // that defines it, in TOML; or its name on the server (is_experiment_file())
  AnswerSource source;
  std::string jobs;  // a CSV file of quotas; empty: those that daemons tell
};

struct ExperimentDefineOptions {
  std::string file;  // or the name on the server
  config::ExperimentConfig config;
  AnswerSource source;  // for a name
  std::string owner;    // for a name; empty: the caller
};

struct ExperimentListOptions {
  AnswerSource source;
  query::TableForm form = query::TableForm::kText;
};

struct ExperimentWithdrawOptions {
  std::string name;
  AnswerSource source;
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

// Writes the file, which is not there yet, or has the server keep the definition.
Status run_experiment_define(const ExperimentDefineOptions& options);
// Those that the server keeps.
Status run_experiment_list(const ExperimentListOptions& options);
Status run_experiment_withdraw(const ExperimentWithdrawOptions& options);
Status run_experiment_plan(const ExperimentPlanOptions& options);
// Says how far it is, again and again, until all that is wanted was observed.
Status run_experiment_watch(const ExperimentWatchOptions& options);
Status run_experiment_report(const ExperimentReportOptions& options);

}  // namespace plimsoll::cli
