#include "query/table/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

namespace plimsoll::query {
namespace {

constexpr double kMissingValue = std::numeric_limits<double>::quiet_NaN();

double mean_of_finite(std::span<const double> values) {
  double sum = 0;
  size_t count = 0;
  for (const double value : values) {
    if (std::isfinite(value)) {
      sum += value;
      ++count;
    }
  }
  return count == 0 ? kMissingValue : sum / static_cast<double>(count);
}

// Groups of equal size, so that no column stands for more values than its neighbour.
std::vector<double> merged_columns(std::span<const double> values, size_t max_columns) {
  const size_t group = (values.size() + max_columns - 1) / max_columns;
  std::vector<double> columns;
  for (size_t start = 0; start < values.size(); start += group) {
    columns.push_back(mean_of_finite(values.subspan(start, std::min(group, values.size() - start))));
  }
  return columns;
}

std::string_view block_of(double value, double max) {
  constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (!std::isfinite(value)) {
    return "·";
  }
  const double eighths = max > 0 ? std::clamp(std::floor(value / max * 8), 0.0, 7.0) : 0;
  return kBlocks.at(static_cast<size_t>(eighths));
}

}  // namespace

std::string sparkline(std::span<const double> values, size_t max_columns) {
  if (values.empty() || max_columns == 0) {
    return {};
  }
  const std::vector<double> columns = merged_columns(values, max_columns);
  double max = 0;
  for (const double value : columns) {
    max = std::isfinite(value) ? std::max(max, value) : max;
  }
  std::string line;
  for (const double value : columns) {
    line += block_of(value, max);
  }
  return line;
}

}  // namespace plimsoll::query
