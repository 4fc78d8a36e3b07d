// `plimsoll wsmeter baseline --svg`: how few jobs have how much of the quota, to look at.
#pragma once

#include "query/plot/line_plot.h"
#include "query/table/table.h"

namespace plimsoll::query {

// The quota that the heaviest N jobs have together against N; `baseline` is what baseline_table() gave.
LinePlot coverage_plot(const Table& baseline);

}  // namespace plimsoll::query
