// Traces for tests and for the examples of --help: two services, of which one is slow for three minutes.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>

#include "base/time.h"

namespace plimsoll::testing {

// From 2026-11-21T07:00:00Z on a request a second for 20 minutes; db takes 40 ms more from 07:10 to 07:13. One trace has the ID of W3C's
// example, 4bf92f3577b34da6a3ce929d0e0e4736.
inline std::string slow_shop_table() {
  std::string table = "trace_id,span_id,parent_id,service,method,replica,machine,start_ns,end_ns\n";
  const int64_t begin_ns = parse_time_ns("2026-11-21T07:00:00Z", 0).value_or(0);
  for (int64_t second = 0; second < 20 * 60; ++second) {
    const std::string trace = second == 100 ? "4bf92f3577b34da6a3ce929d0e0e4736"
                                            : fmt::format("{:016x}{:016x}", 0xfeed, 1 + second);
    // Scatter that needs no generator.
    const int64_t noise_us = second * 7919 % 997;
    const int64_t db_us = 4000 + 3 * noise_us + (second >= 600 && second < 780 ? 40'000 : 0);
    const int64_t start_ns = begin_ns + second * kNsPerSecond + kNsPerMs;
    const auto row = [&](int id, const std::string& parent, const char* names, int64_t from_us,
                         int64_t to_us) {
      fmt::format_to(std::back_inserter(table), "{},{},{},{},{},{}\n", trace, id, parent, names,
                     start_ns + 1000 * from_us, start_ns + 1000 * to_us);
    };
    row(1, "", "web,get,web-0,host-0", 0, 6000 + db_us + noise_us);
    row(2, "1", "web,db.Query,web-0,host-0", 2000, 4000 + db_us);
    row(3, "2", "db,Query,db-0,host-1", 3000, 3000 + db_us);
  }
  return table;
}

}  // namespace plimsoll::testing
