// Traces for tests and for the examples of --help: two services, of which one is slow for three minutes.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "base/time.h"

namespace plimsoll::testing {

struct ShopSpan {
  std::string trace;
  int id = 0;
  int parent = 0;  // 0: none
  const char* service = "";
  const char* method = "";
  const char* replica = "";
  const char* machine = "";
  int64_t start_us = 0;
  int64_t duration_us = 0;
};

// From 2026-11-21T07:00:00Z on a request a second for 20 minutes; db takes 40 ms more from 07:10 to 07:13. One trace has the ID of W3C's
// example, 4bf92f3577b34da6a3ce929d0e0e4736.
inline std::vector<ShopSpan> slow_shop_spans() {
  std::vector<ShopSpan> spans;
  const int64_t begin_us = parse_time_ns("2026-11-21T07:00:00Z", 0).value_or(0) / 1000;
  for (int64_t second = 0; second < 20 * 60; ++second) {
    const std::string trace = second == 100 ? "4bf92f3577b34da6a3ce929d0e0e4736"
                                            : fmt::format("{:016x}{:016x}", 0xfeed, 1 + second);
    // Scatter that needs no generator.
    const int64_t noise_us = second * 7919 % 997;
    const int64_t db_us = 4000 + 3 * noise_us + (second >= 600 && second < 780 ? 40'000 : 0);
    const int64_t start_us = begin_us + second * 1'000'000 + 1000;
    spans.push_back({trace, 1, 0, "web", "get", "web-0", "host-0", start_us, 6000 + db_us + noise_us});
    spans.push_back({trace, 2, 1, "web", "db.Query", "web-0", "host-0", start_us + 2000, 2000 + db_us});
    spans.push_back({trace, 3, 2, "db", "Query", "db-0", "host-1", start_us + 3000, db_us});
  }
  return spans;
}

// As CSV.
inline std::string slow_shop_table() {
  std::string table = "trace_id,span_id,parent_id,service,method,replica,machine,start_ns,end_ns\n";
  for (const ShopSpan& span : slow_shop_spans()) {
    fmt::format_to(std::back_inserter(table), "{},{},{},{},{},{},{},{},{}\n", span.trace, span.id,
                   span.parent == 0 ? "" : std::to_string(span.parent), span.service, span.method,
                   span.replica, span.machine, 1000 * span.start_us,
                   1000 * (span.start_us + span.duration_us));
  }
  return table;
}

// As Zipkin's clients send them, which name no machines.
inline std::string slow_shop_zipkin() {
  std::string list;
  for (const ShopSpan& span : slow_shop_spans()) {
    fmt::format_to(std::back_inserter(list),
                   R"({}{{"traceId": "{}", "id": "{:016x}"{}, "name": "{}", "timestamp": {}, "duration": {},
"localEndpoint": {{"serviceName": "{}"}}, "tags": {{"instance": "{}"}}}})",
                   list.empty() ? "[" : ",\n", span.trace, span.id,
                   span.parent == 0 ? "" : fmt::format(R"(, "parentId": "{:016x}")", span.parent),
                   span.method, span.start_us, span.duration_us, span.service, span.replica);
  }
  list += "]\n";
  return list;
}

}  // namespace plimsoll::testing
