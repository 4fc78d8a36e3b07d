// Request traces in files, as `plimsoll diagnose`, `plimsoll trace` and `plimsoll regressions` read them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/views/answer_source.h"
#include "query/traces/stored_requests.h"
#include "traces/model/span_set.h"

namespace plimsoll::cli {

using TraceFiles = query::TracedRequests;
using TimeRange = query::RequestTimes;

// Of the values of --PREFIXsince and --PREFIXuntil; empty: without a limit. kInvalid for what is no time, and for an empty range.
Result<TimeRange> parse_time_range(const std::string& since, const std::string& until,
                                   const std::string& prefix);

// Files, and the files of folders by name; "-" is standard input. Fails on the first that has no traces in it, or where none has spans.
Result<TraceFiles> read_trace_files(const std::vector<std::string>& paths,
                                    const traces::SpanLimits& limits = {});

// kInvalid unless there is one of the two. `flag`: how files are given.
Status expect_traces_or_source(const std::vector<std::string>& traces, const AnswerSource& source,
                               std::string_view flag = "--traces");

}  // namespace plimsoll::cli
