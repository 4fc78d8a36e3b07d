// `plimsoll experiment percentiles`: percentiles of latency or CPU time of two arms, from a file.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "query/table/table.h"

namespace plimsoll::cli {

struct ExperimentPercentilesOptions {
  std::string file;  // "-": standard input
  std::string control = "control";
  std::string test = "test";
  std::vector<double> percentiles;  // empty: 50, 95, 99
  std::string block;                // a duration; empty: 16 h
  double detect = 0;
  query::TableForm form = query::TableForm::kText;
};

Status run_experiment_percentiles(const ExperimentPercentilesOptions& options);

}  // namespace plimsoll::cli
