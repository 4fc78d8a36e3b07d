// Rows of the table of stops (draw_store.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/draws/stop.h"

namespace plimsoll::store {

Result<std::vector<Stop>> read_stops(sqlite::Database& database);

// In place of all that there were, in a transaction of the caller's. `log` is kept, with its time: who did what.
Status replace_stops(sqlite::Database& database, const std::vector<Stop>& stops, int64_t now_ns,
                     std::string_view log);

}  // namespace plimsoll::store
