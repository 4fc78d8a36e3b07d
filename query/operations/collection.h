// `collection`: what is not measured for now, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"
#include "store/draws/draw_store.h"

namespace plimsoll::query {

struct CollectionRequest {};

// No parameters.
Result<CollectionRequest> parse_collection(const Parameters& parameters, int64_t now_ns);

// draws.db of a data directory, beside its writer; nothing where nobody has drawn or stopped anything.
Result<std::optional<store::DrawStore>> open_draws(const std::string& data_dir);

// What is stopped in a data directory.
Result<std::vector<store::Stop>> load_stops(const std::string& data_dir);

// A row for each stop: stopped (everything, or a kind), which (event set, daemon version, platform; empty: all), measured (nothing, one
// machine, a tenth: of those drawn), by (hand or failures), since, next (when more is tried; absent: by hand alone), reason. A note says
// where there are none.
Table collection(const std::vector<store::Stop>& stops);

// One line for each, for the notes of other views.
std::vector<std::string> stop_notes(const std::vector<store::Stop>& stops);

}  // namespace plimsoll::query
