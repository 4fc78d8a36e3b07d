// `audit`: who asked for what, and what the answer was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"
#include "store/fleet.h"

namespace plimsoll::query {

struct AuditRequest {
  int64_t since_ns = INT64_MIN;
  size_t limit = 50;
  bool by_caller = false;
};

// Parameters: by, since, limit.
Result<AuditRequest> parse_audit(const Parameters& parameters, int64_t now_ns);

// What the server of a data directory has written down, the newest first. A row for requests within a minute that differ in nothing but
// their time: time (of the last), count, who, from (address), request, status (of HTTP), answer (granted, or why it was refused).
// By caller, those who asked last first: who, first_time, last_time, count, refused.
Result<Table> audit(const AuditRequest& request, const store::Fleet& fleet);

}  // namespace plimsoll::query
