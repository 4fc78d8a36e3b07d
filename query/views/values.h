// `values`: what there is to choose from: events, dimensions, and the values of a dimension.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct ValuesRequest {
  std::string of = "dimension";  // "event", "dimension", or a dimension
  std::string match;             // part of the value, whatever its case; empty: all
  Selection selection;           // since and until
  size_t limit = 100;
};

// Parameters: of, match, since, until, limit.
Result<ValuesRequest> parse_values(const Parameters& parameters, int64_t now_ns);

// Columns: value; unit (of an event); meaning (of a dimension). Those that begin with `match` come first, events with the most samples before
// others. Events and values of machines and draws are those of profiles in the time range; other values are those of the blocks of the store
// that it touches, which may be a few more. Costs a pass over the entries of one dictionary; of frames, over their names.
Result<Table> values(const ValuesRequest& request, const Snapshot& snapshot);

}  // namespace plimsoll::query
