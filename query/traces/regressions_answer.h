// The view "regressions": kinds of request in which a new version is slower, as a document (docs/regressions.md).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "diagnosis/buckets/request_table.h"
#include "query/selection/parameters.h"
#include "query/traces/stored_requests.h"

namespace plimsoll::query {

// Memory that a span takes at most while it is read, put into its tree and compared; 192 MB come on top.
inline constexpr uint64_t kBytesOfComparedSpan = 600;

struct RegressionsRequest {
  diagnosis::RequestTableOptions table = {};
  bool has_since = false;
  bool is_json = false;
  int64_t now_ns = 0;
};

// since, until, by_hardware, by_workload, version, attribute (12 at most), new, base, json
Result<RegressionsRequest> parse_regressions(const Parameters& parameters, int64_t now_ns);

// Markdown or JSON. The spans have attributes. Ends early with the error of check_stop().
Result<std::string> regressions_document(const RegressionsRequest& request, const TracedRequests& requests);

// Of the spans of a data directory, with what its machine database knew of their machines; without a start, of 24 hours.
// Where that database is damaged, without it and with a note.
Result<std::string> regressions_of_store(const RegressionsRequest& request, const std::string& data_dir,
                                         uint64_t max_spans);

}  // namespace plimsoll::query
