#include "store/draws/stop_rows.h"

#include <cstddef>
#include <string>
#include <utility>

namespace plimsoll::store {

Result<std::vector<Stop>> read_stops(sqlite::Database& database) {
  std::vector<Stop> stops;
  const auto read = sqlite::for_each_row(
      database.query("SELECT scope, value, reason, by_hand, step, since_ns, next_ns, times FROM stop"),
      [&](const sqlite::Statement& row) {
        stops.push_back({.scope = static_cast<StopScope>(row.integer(0)),
                         .value = std::string(row.text(1)),
                         .reason = std::string(row.text(2)),
                         .by_hand = row.integer(3) != 0,
                         .step = static_cast<StopStep>(row.integer(4)),
                         .since_ns = row.integer(5),
                         .next_ns = row.integer(6),
                         .times = row.integer(7)});
      });
  return read ? Result<std::vector<Stop>>(std::move(stops)) : propagate(read);
}

Status replace_stops(sqlite::Database& database, const std::vector<Stop>& stops, int64_t now_ns,
                     std::string_view log) {
  Status written = database.execute("DELETE FROM stop");
  for (size_t i = 0; written && i < stops.size(); ++i) {
    const Stop& stop = stops[i];
    written = database.execute("INSERT INTO stop VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                               static_cast<int64_t>(stop.scope), stop.value, stop.reason, stop.by_hand,
                               static_cast<int64_t>(stop.step), stop.since_ns, stop.next_ns, stop.times);
  }
  return written ? database.execute("INSERT INTO stop_log VALUES (?, ?)", now_ns, log) : written;
}

}  // namespace plimsoll::store
