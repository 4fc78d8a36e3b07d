// What a request has by event and origin (groups, factors), as a statement about rows takes it.
//
// A table by origin goes with the statement, and the server joins it; by event too where events differ in more than their groups. What is the same for
// all is no column of it. Where all origins are alike there is no table at all: a join costs the server several times what the sums do.
#pragma once

#include <string>
#include <vector>

#include "store/clickhouse/connection.h"
#include "store/model/aggregation.h"

namespace plimsoll::store::clickhouse {

// Over columns of rows and of what is joined to them.
struct ValueOfRow {
  std::string sql = "0";  // an unsigned integer
  bool varies = false;    // else it is a constant
};

struct OriginValues {
  // Behind "(SELECT ... FROM rows ...) AS selected". Empty: nothing is joined.
  std::string join = {};
  std::vector<ExternalTable> tables = {};
  // Columns of `rows` that are named here.
  std::vector<std::string> columns = {};

  ValueOfRow event_group = {};
  ValueOfRow origin_group = {};
  ValueOfRow machine_group = {};
  // UInt8: whether its event and origin have factors. No constant.
  std::string has_factor = {};
  std::vector<std::string> factors = {};  // Float64, by measure
};

// Costs a look at each origin that is selected, for each event that is.
OriginValues origin_values(const AggregateRequest& request);

}  // namespace plimsoll::store::clickhouse
