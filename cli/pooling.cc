#include "cli/pooling.h"

#include "base/time.h"
#include "cli/fleet_tables.h"
#include "cli/views/terminal.h"
#include "query/series_files/pooling_table.h"

namespace plimsoll::cli {

Status run_pooling(const PoolingOptions& options) {
  query::PoolingRequest request{.share = options.share, .seed = options.seed};
  if (!options.max_lag.empty()) {
    const auto lag_ns = parse_duration_ns(options.max_lag);
    if (!lag_ns || *lag_ns == 0) {
      return fail(ErrorCode::kInvalid, "--max-lag must be a duration, such as 50ms, is \"{}\"",
                  options.max_lag);
    }
    request.max_lag_ns = *lag_ns;
  }
  const auto text = read_table_file(options.file);
  if (!text) {
    return propagate(text);
  }
  const auto series = query::read_service_series({.name = options.file, .text = *text});
  return series ? print(query::pooling_table(*series, request), options.form) : propagate(series);
}

}  // namespace plimsoll::cli
