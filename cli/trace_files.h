// Request traces in files, as `plimsoll diagnose` and `plimsoll trace` read them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "traces/assembly/assembly.h"
#include "traces/model/span_set.h"

namespace plimsoll::cli {

struct TraceFiles {
  std::unique_ptr<traces::SpanSet> spans;
  traces::Assembly assembly;
  std::vector<std::string> notes;  // what was wrong with the spans: a reader should know them
};

// Files, and the files of folders by name; "-" is standard input. Fails on the first that has no traces in it, or where none has spans.
Result<TraceFiles> read_trace_files(const std::vector<std::string>& paths);

}  // namespace plimsoll::cli
