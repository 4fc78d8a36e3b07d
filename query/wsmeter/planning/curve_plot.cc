#include "query/wsmeter/planning/curve_plot.h"

#include <fmt/format.h>

namespace plimsoll::query {

LinePlot curve_plot(const MarginCurve& curve) {
  PlotLine plans{.name = "plan", .points = {}};
  PlotLine bounds{.name = "lower bound of any plan", .points = {}};
  for (const MarginCurve::Point& point : curve.points) {
    plans.points.push_back({point.cost, point.margin,
                            fmt::format("margin {:.3g} %: {} instances, cost {:.6g}", 100 * point.margin,
                                        point.instances, point.cost)});
    bounds.points.push_back(
        {point.min_cost, point.margin,
         fmt::format("margin {:.3g} %: cost at least {:.6g}", 100 * point.margin, point.min_cost)});
  }
  return {.title = "Margin of the metric against the cost of observing",
          .x = {.title = "cost (in the unit of the table's column cost, else of quota)",
                .scale = AxisScale::kLogarithmic},
          .y = {.title = "margin (% of the metric)", .scale = AxisScale::kLogarithmic, .is_percent = true},
          .lines = {std::move(plans), std::move(bounds)}};
}

}  // namespace plimsoll::query
