// The JSON of a flame as lists by attribute; for flame_json.cc, which writes and reads the other form.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "query/views/flame.h"

namespace plimsoll::query {

// Of a flame whose `frames` has an entry for each node.
std::string to_columns_json(const Flame& flame);

// Reads names, nodes, frames and shares into `flame`. kCorrupt where lists differ in length or numbers are out of range.
Status read_columns(const nlohmann::ordered_json& document, Flame& flame);

}  // namespace plimsoll::query
