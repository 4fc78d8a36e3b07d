// `sql`: questions in SQL to the tables of query/sql/tables.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/snapshot/snapshot.h"
#include "query/sql/answer.h"
#include "query/sql/catalogue_tables.h"
#include "sqlite/question/question.h"

namespace plimsoll::query {

struct SqlRequest {
  std::string statement = {};
  int64_t now_ns = 0;  // wall clock: which machines are live
  sqlite::QuestionLimits limits = {};
};

// Parameters: q, the statement.
Result<SqlRequest> parse_sql(const Parameters& parameters, int64_t now_ns);

// kInvalid where it is no SELECT, with the place in the statement and, of an unknown column or table, the nearest there is;
// kTooLarge past a limit. A note says what the rows stand on.
//
// Values are weighted as top weights them without a filter, so that sum(value) is its total. Of snapshots (heaps in use), which
// do not add up over time, each is divided by how many there are of its series.
Result<SqlAnswer> sql(const SqlRequest& request, const Snapshot& snapshot, const FleetSource& fleet);

// A table, for --help.
struct SqlTable {
  std::string_view name;
  std::string_view row_is;
  std::vector<std::string> columns;
};
std::vector<SqlTable> sql_tables();

}  // namespace plimsoll::query
