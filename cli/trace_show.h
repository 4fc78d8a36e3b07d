// `plimsoll trace show`: one request as a tree with times.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/views/answer_source.h"

namespace plimsoll::cli {

struct TraceShowOptions {
  std::string id;                   // of the trace, or its first digits
  std::vector<std::string> traces;  // files and folders
  AnswerSource source;              // or a store; then the ID is whole
  bool is_json = false;
};

Status run_trace_show(const TraceShowOptions& options);

}  // namespace plimsoll::cli
