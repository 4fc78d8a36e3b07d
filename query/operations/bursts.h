// `bursts`: which recordings of bursts a data directory has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"
#include "store/door/bursts.h"

namespace plimsoll::query {

struct BurstsRequest {
  int64_t since_ns = 0;
  int64_t until_ns = INT64_MAX;
  std::string machine = {};  // empty: all
  std::string draw = {};     // empty: all, and those of no draw
  size_t limit = 50;
};

// Parameters: machine, draw, since, until, limit.
Result<BurstsRequest> parse_bursts(const Parameters& parameters, int64_t now_ns);

// A row per recording, the newest first: begin, end, machine, config, bursts, events, lost, clock_error, clock, bytes, draw, received, id. Reads no
// recording.
Result<Table> bursts(const BurstsRequest& request, store::BurstSource& source);

}  // namespace plimsoll::query
