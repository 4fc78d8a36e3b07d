// Statements whose answers nothing reads.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/clickhouse/connection.h"

namespace plimsoll::bench {

// One after the other, up to the first that fails.
inline Status run_statements(store::clickhouse::Queryable& server, const std::vector<std::string>& sql) {
  for (const std::string& statement : sql) {
    if (const auto answer = server.query(statement); !answer) {
      return propagate(answer);
    }
  }
  return {};
}

}  // namespace plimsoll::bench
