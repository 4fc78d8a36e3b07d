// `plimsoll diagnose`: which service, method and replica is slow, or takes another path, in request traces.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/views/answer_source.h"
#include "query/table/table.h"

namespace plimsoll::cli {

struct DiagnoseOptions {
  std::vector<std::string> traces;  // files and folders
  AnswerSource source;              // or a store
  // As parse_time_ns() reads them; empty: without a limit.
  std::string since, until;
  std::string reference_since, reference_until;  // both empty: all requests outside of the window
  std::string service;                           // findings of this service only; empty: all
  enum class By { kPlimsoll, kCloudDiag, kPaper, kPca, kAll, kCategory, kTree } by = By::kPlimsoll;
  std::string every;  // parts of the window, by category and tree; empty: it as a whole
  query::TableForm form = query::TableForm::kText;
};

Status run_diagnose(const DiagnoseOptions& options);

}  // namespace plimsoll::cli
