// What statistics::compare_percentiles() found, as a table.
#pragma once

#include "query/table/table.h"
#include "statistics/percentile_change.h"

namespace plimsoll::query {

Table table_of(const statistics::PercentileComparison& comparison,
               const statistics::PercentileRequest& request);

}  // namespace plimsoll::query
