// What a data directory answers, to be compared with what a copy of it does.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <variant>

#include "query/views/top.h"

namespace plimsoll::testing {

// The values of all functions, by event.
inline std::map<std::string, double> answers(const std::string& data_dir) {
  std::map<std::string, double> values;
  const auto snapshot = query::Snapshot::load(data_dir);
  EXPECT_TRUE(snapshot) << snapshot.error().text();
  if (!snapshot) {
    return values;
  }
  for (const char* event : {"cycles", "page-faults"}) {
    for (const char* by : {"function", "job", "machine"}) {
      const auto table = query::top(*query::parse_top({{"event", event}, {"by", by}}, 0), **snapshot);
      EXPECT_TRUE(table) << table.error().text();
      for (size_t i = 0; table && i < table->rows.size(); ++i) {
        values[fmt::format("{} {}", event, std::get<std::string>(table->rows[i][0]))] =
            std::get<double>(table->rows[i][1]);
      }
    }
  }
  return values;
}

}  // namespace plimsoll::testing
