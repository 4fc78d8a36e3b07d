// The view "trace": one request as a tree of calls with their times (docs/traces.md).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"
#include "query/traces/stored_requests.h"

namespace plimsoll::query {

// Memory that a span takes at most while it is read and becomes a row, and in the text of the answer, with names of usual lengths.
inline constexpr uint64_t kBytesOfShownSpan = 2000;

struct TraceRequest {
  traces::TraceId id;
};

// id: in hexadecimal; fewer than 32 digits are the last ones.
Result<TraceRequest> parse_trace(const Parameters& parameters, int64_t now_ns);

// A row for each span, in the order of the tree: parents before children, siblings by start, with the depth of each. Times count from the
// start of the trace.
Table trace_table(const traces::Trace& trace, const TracedRequests& requests);

// Of the spans of a data directory. kNotFound where it has none of that trace.
Result<Table> show_stored_trace(const TraceRequest& request, const std::string& data_dir, uint64_t max_spans);

}  // namespace plimsoll::query
