// `plimsoll wsmeter plan --curve --svg`: what margins cost, to look at.
#pragma once

#include "query/plot/line_plot.h"
#include "query/table/table.h"

namespace plimsoll::query {

// Margin against cost, of the plans and of the bound below which no plan costs; `curve` is what curve_table() gave. Both axes are
// logarithmic: a tenth of the margin costs a hundredfold.
LinePlot curve_plot(const Table& curve);

}  // namespace plimsoll::query
