// `plimsoll wsmeter plan --curve --svg`: what margins cost, to look at.
#pragma once

#include "query/plot/line_plot.h"
#include "query/wsmeter/planning/plan_table.h"

namespace plimsoll::query {

// Margin against cost, of the plans and of the bound below which no plan costs. Both axes are logarithmic: a tenth of the margin costs a hundredfold.
LinePlot curve_plot(const MarginCurve& curve);

}  // namespace plimsoll::query
