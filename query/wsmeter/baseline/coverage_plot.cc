#include "query/wsmeter/baseline/coverage_plot.h"

#include <fmt/format.h>

namespace plimsoll::query {

LinePlot coverage_plot(const Table& baseline) {
  const size_t job_column = column_of(baseline, "job");
  const size_t weight_column = column_of(baseline, "weight");
  const size_t coverage_column = column_of(baseline, "top_coverage");
  PlotLine line{.name = "quota", .points = {}};
  for (const auto& row : baseline.rows) {
    const double coverage = std::get<double>(row[coverage_column]);
    const size_t count = line.points.size() + 1;
    line.points.push_back(
        {static_cast<double>(count), coverage,
         fmt::format("{} job{}: {:.4g} % of the quota; the last is {} (weight {:.3g} %)", count,
                     count == 1 ? "" : "s", 100 * coverage, std::get<std::string>(row[job_column]),
                     100 * std::get<double>(row[weight_column]))});
  }
  return {.title = "Quota covered by the heaviest jobs",
          .x = {.title = "number of jobs, the heaviest first", .is_count = true},
          .y = {.title = "cumulative quota (%)", .is_percent = true},
          .lines = {std::move(line)}};
}

}  // namespace plimsoll::query
