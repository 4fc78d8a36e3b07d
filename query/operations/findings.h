// `findings`: what the server's diagnosis of each hour of request traces found, and statistics of its requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct FindingsRequest {
  int64_t since_ns = 0;
  int64_t until_ns = INT64_MAX;
  std::string service = {};  // of the finding, or of the root; empty: all
  size_t limit = 50;
  bool by_category = false;
};

// Parameters: by, service, since, until, limit.
Result<FindingsRequest> parse_findings(const Parameters& parameters, int64_t now_ns);

// The newest hours first. A row for each finding: hour, service, method, replica, machine, kind, score, confidence, evidence. By category:
// hour, service, method (of the root), category, requests, weight, p50, p95, p99 with their intervals, variation.
Result<Table> findings(const FindingsRequest& request, const std::string& data_dir);

}  // namespace plimsoll::query
