// `plimsoll wsmeter baseline --svg`: how few jobs have how much of the quota, to look at.
#pragma once

#include "query/plot/line_plot.h"
#include "query/wsmeter/baseline/baseline_table.h"

namespace plimsoll::query {

// The quota that the heaviest N jobs have together against N.
LinePlot coverage_plot(const Baseline& baseline);

}  // namespace plimsoll::query
