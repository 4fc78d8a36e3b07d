// What services would need together, and which of them depend on each other, as tables.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "query/series_files/service_series.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct PoolingRequest {
  double share = 0.99;
  int64_t max_lag_ns = 0;  // 0: 20 steps
  uint64_t seed = 1;
};

// Rows: each service, then what all need apart and together (kinds "service", "separate", "pooled", "independent", "normal"), then each pair
// (kind "pair"), with p over all pairs that could be tested (Holm).
Result<Table> pooling_table(const ServiceSeries& series, const PoolingRequest& request);

}  // namespace plimsoll::query
