// `collection`: what is not measured for now, and why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"
#include "store/draws/stop.h"

namespace plimsoll::query {

struct CollectionRequest {};

// No parameters.
Result<CollectionRequest> parse_collection(const Parameters& parameters, int64_t now_ns);

// A row for each stop: stopped (everything, or a kind), which (event set, daemon version, platform; empty: all), measured (nothing, one
// machine, a tenth: of those drawn), by (hand or failures), since, next (when more is tried; absent: by hand alone), reason. A note says
// where there are none.
Table collection(const std::vector<store::Stop>& stops);

// One line for each, for the notes of other views.
std::vector<std::string> stop_notes(const std::vector<store::Stop>& stops);

}  // namespace plimsoll::query
