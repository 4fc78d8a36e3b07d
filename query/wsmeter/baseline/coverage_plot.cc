#include "query/wsmeter/baseline/coverage_plot.h"

#include <fmt/format.h>

namespace plimsoll::query {

LinePlot coverage_plot(const Baseline& baseline) {
  PlotLine line{.name = "quota", .points = {}};
  for (const BaselineRow& row : baseline.rows) {
    const size_t count = line.points.size() + 1;
    line.points.push_back(
        {static_cast<double>(count), row.top_coverage,
         fmt::format("{} job{}: {:.4g} % of the quota; the last is {} (weight {:.3g} %)", count,
                     count == 1 ? "" : "s", 100 * row.top_coverage, row.job, 100 * row.weight)});
  }
  return {.title = "Quota covered by the heaviest jobs",
          .x = {.title = "number of jobs, the heaviest first", .is_count = true},
          .y = {.title = "cumulative quota (%)", .is_percent = true},
          .lines = {std::move(line)}};
}

}  // namespace plimsoll::query
