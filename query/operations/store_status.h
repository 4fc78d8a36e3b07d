// `store`: what a data directory holds, by block or by limit, and how it grows.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"
#include "store/retention/retention_limits.h"
#include "store/store_account.h"

namespace plimsoll::query {

struct StoreStatusRequest {
  bool by_limit = false;
};

// Parameters: by (block or limit).
Result<StoreStatusRequest> parse_store_status(const Parameters& parameters, int64_t now_ns);

// By block: block, state (open, sealed, rolled up, damaged), from, to, profiles, rows, segments, bytes; what else takes room is in notes.
// By limit: part, bytes, max_bytes, used_share, bytes_a_day, room (how much history fits at this growth), max_age, key, at_limit.
Table store_status(const StoreStatusRequest& request, const store::StoreAccount& account,
                   const store::RetentionLimits& limits);

}  // namespace plimsoll::query
