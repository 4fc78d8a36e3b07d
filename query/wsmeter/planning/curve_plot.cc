#include "query/wsmeter/planning/curve_plot.h"

#include <fmt/format.h>

namespace plimsoll::query {

LinePlot curve_plot(const Table& curve) {
  const size_t margin_column = column_of(curve, "margin");
  const size_t instances_column = column_of(curve, "instances");
  const size_t cost_column = column_of(curve, "cost");
  const size_t bound_column = column_of(curve, "min_cost");
  PlotLine plans{.name = "plan", .points = {}};
  PlotLine bounds{.name = "lower bound of any plan", .points = {}};
  for (const auto& row : curve.rows) {
    const double margin = std::get<double>(row[margin_column]);
    const double cost = std::get<double>(row[cost_column]);
    const double bound = std::get<double>(row[bound_column]);
    plans.points.push_back({cost, margin,
                            fmt::format("margin {:.3g} %: {} instances, cost {:.6g}", 100 * margin,
                                        std::get<int64_t>(row[instances_column]), cost)});
    bounds.points.push_back(
        {bound, margin, fmt::format("margin {:.3g} %: cost at least {:.6g}", 100 * margin, bound)});
  }
  return {.title = "Margin of the metric against the cost of observing",
          .x = {.title = "cost (in the unit of the table's column cost, else of quota)",
                .scale = AxisScale::kLogarithmic},
          .y = {.title = "margin (% of the metric)", .scale = AxisScale::kLogarithmic, .is_percent = true},
          .lines = {std::move(plans), std::move(bounds)}};
}

}  // namespace plimsoll::query
