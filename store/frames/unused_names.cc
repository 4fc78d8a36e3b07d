#include "store/frames/unused_names.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace plimsoll::store {
namespace {

// A pass over the frames of so many locations takes some milliseconds.
constexpr int64_t kFewLocations = 20'000;
constexpr int64_t kSmallPart = 8;

// The last entry stays, so that no ID is given to another name: readers know names by their IDs, and read those that are new.
constexpr std::array kDrop{
    "DELETE FROM function WHERE id NOT IN (SELECT function FROM frame) AND id < (SELECT max(id) FROM "
    "function)",
    "DELETE FROM source_file WHERE id NOT IN (SELECT file FROM frame) AND id < (SELECT max(id) FROM "
    "source_file)",
    "UPDATE rebinding SET locations = 0"};

constexpr std::string_view kTable = "rebinding";

// At most one row: the locations whose frames were replaced since names that no frame uses were removed.
constexpr const char* kMakeTable =
    "CREATE TABLE IF NOT EXISTS rebinding (id INTEGER PRIMARY KEY CHECK (id = 1), locations INTEGER NOT "
    "NULL)";

}  // namespace

Status prepare_rebinding(sqlite::Database& database) {
  return database.run(kMakeTable);
}

Status count_rebinding(sqlite::Database& database, uint32_t location) {
  return database.execute(
      "INSERT INTO rebinding (id, locations) SELECT 1, 1 WHERE EXISTS (SELECT 1 FROM frame WHERE location = "
      "?) "
      "ON CONFLICT (id) DO UPDATE SET locations = locations + 1",
      location);
}

Status drop_unused_names(sqlite::Database& database) {
  const auto has_table = database.has_table(kTable);
  if (!has_table || !*has_table) {
    return has_table ? Status() : propagate(has_table);
  }
  const auto rebound = database.integer("SELECT locations FROM rebinding", 0);
  const auto locations = rebound ? database.integer("SELECT max(id) FROM location", 0) : propagate(rebound);
  if (!locations) {
    return propagate(locations);
  }
  const int64_t due = *locations <= kFewLocations ? 1 : *locations / kSmallPart;
  if (*rebound < due) {
    return {};
  }
  for (const char* statement : kDrop) {
    if (const Status dropped = database.run(statement); !dropped) {
      return propagate(dropped, "removing names that no frame uses");
    }
  }
  return {};
}

}  // namespace plimsoll::store
