// `sql`: questions in SQL to the table `samples`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/sql/answer.h"
#include "query/views/parameters.h"
#include "query/views/snapshot.h"
#include "store/sqlite/question.h"

namespace plimsoll::query {

struct SqlRequest {
  std::string statement;
  sqlite::QuestionLimits limits = {};
};

// Parameters: q, the statement.
Result<SqlRequest> parse_sql(const Parameters& parameters, int64_t now_ns);

// kInvalid where it is no SELECT, with the place in the statement and, of an unknown column or table, the nearest there is;
// kTooLarge past a limit. A note says what the rows stand on.
//
// Values are weighted as top weights them without a filter, so that sum(value) is its total. Of snapshots (heaps in use), which
// do not add up over time, each is divided by how many there are of its series.
Result<SqlAnswer> sql(const SqlRequest& request, const Snapshot& snapshot);

// The names of the columns of `samples`, for --help.
std::vector<std::string> sql_columns();

}  // namespace plimsoll::query
