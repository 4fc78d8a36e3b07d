// `series` as people read it first: a line per row that is followed, in place of one per step and row.
#pragma once

#include "base/result.h"
#include "query/table/table.h"
#include "query/table/text_grid.h"

namespace plimsoll::query {

// From the answer of series() to a row per key, in the same order: mean, min, max and last of its self_share or self_rate over the
// steps that have a value, the dimensions, and where the style has blocks `over_time`, a sparkline. The length of a step is the
// greatest common divisor of the times between steps; steps without profiles are missing in the sparkline. For text only: it drops
// margins and totals. kCorrupt where the table is no answer of series(): it may be a server's of another version.
Result<Table> series_summary(const Table& series, const TextStyle& style);

}  // namespace plimsoll::query
