// The view "trace": one request as a tree of calls with their times (docs/traces.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"
#include "query/traces/profile_links.h"
#include "query/traces/stored_requests.h"
#include "traces/model/attribute_table.h"

namespace plimsoll::query {

// Text of attributes in the rows of a table: so much a row, and so much on top. What a row leaves, later ones may use; what does not fit is
// left out, with a note.
inline constexpr uint64_t kAttributeBytesOfRow = 500;
inline constexpr uint64_t kAttributeBytesOfTable = 64 << 10;

// Memory that a span takes at most while it is read and becomes a row, and in the text of the answer, with names of usual lengths: 2,000
// bytes without attributes. Their text is in the row and, with its escapes, up to twice as long in the answer, which has room to grow.
inline constexpr uint64_t kBytesOfShownSpan = 2000 + 4 * kAttributeBytesOfRow;

// An attribute in the column: KEY=VALUE, with '\' before each '=' and '\' in the key.
std::string attribute_text(const traces::Attribute& attribute);
// Its key and value.
std::pair<std::string, std::string> split_attribute(std::string_view text);

struct TraceRequest {
  traces::TraceId id;
};

// id: in hexadecimal; fewer than 32 digits are the last ones.
Result<TraceRequest> parse_trace(const Parameters& parameters, int64_t now_ns);

// A row for each span, in the order of the tree: parents before children, siblings by start, with the depth of each. Times count from the
// start of the trace. Attributes are KEY=VALUE, one a line. With the notes of the requests.
Table trace_table(const traces::Trace& trace, const TracedRequests& requests,
                  const ProfileLinks& links = ProfileLinks());

// Of the spans of a data directory. kNotFound where it has none of that trace. `snapshot_of`: where profiles of half a minute around the
// trace are looked for; where they cannot be read, a note says so.
Result<Table> show_stored_trace(const TraceRequest& request, const std::string& data_dir, uint64_t max_spans,
                                const SnapshotOfTimes& snapshot_of = {});

}  // namespace plimsoll::query
