// `plimsoll trace show`: one request as a tree with times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/views/answer_source.h"
#include "formats/traces/write_spans.h"

namespace plimsoll::cli {

struct TraceShowOptions {
  std::string id;                   // of the trace, or its first digits
  std::vector<std::string> traces;  // files and folders
  AnswerSource source;              // or a store; then the ID is whole
  bool is_json = false;
  std::optional<formats::TraceExport> exported = std::nullopt;  // in the format of another tool instead
};

Status run_trace_show(const TraceShowOptions& options);

}  // namespace plimsoll::cli
