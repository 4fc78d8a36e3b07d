#include "query/views/series_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "query/table/sparkline.h"
#include "query/table/values.h"

namespace plimsoll::query {
namespace {

// Of profiles that lie years apart there could be any number of steps between; no terminal has as many columns.
constexpr uint64_t kMaxSteps = 10'000;
constexpr size_t kNarrowestLine = 8;
constexpr size_t kWidestLine = 60;

// The columns of series() that a summary is made of.
struct SeriesColumns {
  size_t time = 0;
  size_t value = 0;
  std::vector<size_t> dimensions;
};

// A key's values by the time of their step; of a step without samples at all, nothing.
struct FollowedRow {
  std::vector<std::string> key;
  std::vector<std::pair<int64_t, std::optional<double>>> values;
};

Result<SeriesColumns> columns_of_series(const Table& series) {
  const auto time = find_column(series, "time");
  if (!time) {
    return propagate(time);
  }
  auto value = find_column(series, "self_share");
  value = value ? value : find_column(series, "self_rate");
  if (!value) {
    return propagate(value);
  }
  SeriesColumns columns{.time = *time, .value = *value, .dimensions = {}};
  for (size_t i = 0; i < series.columns.size(); ++i) {
    const TableColumn& column = series.columns[i];
    if (i != *time && column.unit.empty() && !column.name.ends_with("_margin_kind")) {
      columns.dimensions.push_back(i);
    }
  }
  return columns;
}

Result<std::vector<FollowedRow>> followed_rows(const Table& series, const SeriesColumns& columns) {
  std::vector<FollowedRow> rows;
  std::map<std::vector<std::string>, size_t> places;
  for (const auto& row : series.rows) {
    std::vector<std::string> key;
    for (const size_t dimension : columns.dimensions) {
      key.push_back(text_in(row[dimension]));
    }
    const auto time_ns = parse_time_ns(text_in(row[columns.time]), 0);
    if (!time_ns) {
      return fail(ErrorCode::kCorrupt, "a step of the series has the time \"{}\"",
                  text_in(row[columns.time]));
    }
    const auto [place, is_new] = places.emplace(key, rows.size());
    if (is_new) {
      rows.push_back({.key = std::move(key), .values = {}});
    }
    rows[place->second].values.emplace_back(*time_ns, number_in(row[columns.value]));
  }
  return rows;
}

// Places of steps on an even axis of time.
class StepAxis {
 public:
  explicit StepAxis(const std::vector<FollowedRow>& rows) {
    int64_t last_ns = std::numeric_limits<int64_t>::min();
    first_ns_ = std::numeric_limits<int64_t>::max();
    for (const FollowedRow& row : rows) {
      for (const auto& [time_ns, value] : row.values) {
        first_ns_ = std::min(first_ns_, time_ns);
        last_ns = std::max(last_ns, time_ns);
      }
    }
    uint64_t step_ns = 0;
    for (const FollowedRow& row : rows) {
      for (const auto& [time_ns, value] : row.values) {
        step_ns = std::gcd(step_ns, since_first_ns(time_ns));
      }
    }
    if (step_ns > 0) {
      const uint64_t steps = since_first_ns(last_ns) / step_ns + 1;
      step_ns_ = step_ns * ((steps + kMaxSteps - 1) / kMaxSteps);
      steps_ = since_first_ns(last_ns) / step_ns_ + 1;
    }
  }

  // A value per step, not a number where there is none; the mean where an entry stands for several steps.
  std::vector<double> values_of(const FollowedRow& row) const {
    std::vector<double> sums(steps_);
    std::vector<double> counts(steps_);
    for (const auto& [time_ns, value] : row.values) {
      const auto place = since_first_ns(time_ns) / step_ns_;
      sums[place] += value.value_or(0);
      counts[place] += value ? 1 : 0;
    }
    for (size_t i = 0; i < steps_; ++i) {
      sums[i] = counts[i] > 0 ? sums[i] / counts[i] : std::numeric_limits<double>::quiet_NaN();
    }
    return sums;
  }

 private:
  // Unsigned: a time that a server sent as a duration may be 292 years before 1970, further than an int64_t can hold.
  uint64_t since_first_ns(int64_t time_ns) const {
    return static_cast<uint64_t>(time_ns) - static_cast<uint64_t>(first_ns_);
  }

  int64_t first_ns_ = 0;
  uint64_t step_ns_ = 1;
  size_t steps_ = 1;
};

void add_statistics(const FollowedRow& row, std::vector<Value>& cells) {
  double sum = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  size_t count = 0;
  for (const auto& [time_ns, value] : row.values) {
    if (value) {
      sum += *value;
      min = std::min(min, *value);
      max = std::max(max, *value);
      ++count;
    }
  }
  if (count == 0) {
    cells.insert(cells.end(), 3, Value());
  } else {
    cells.insert(cells.end(), {sum / static_cast<double>(count), min, max});
  }
  const std::optional<double>& last = row.values.back().second;
  cells.push_back(last ? Value(*last) : Value());
}

}  // namespace

Result<Table> series_summary(const Table& series, const TextStyle& style) {
  const auto columns = columns_of_series(series);
  const auto rows = columns ? followed_rows(series, *columns) : propagate(columns);
  if (!rows) {
    return propagate(rows, "summing up the series");
  }
  const TableColumn& value = series.columns[columns->value];
  Table table{.event = series.event,
              .notes = series.notes,
              .columns = {{"mean", value.unit, kAlwaysShown},
                          {"min", value.unit, kDetail},
                          {"max", value.unit},
                          {"last", value.unit}},
              .rows = {},
              .coverage = series.coverage,
              .is_for_text_only = true};
  if (style.has_blocks) {
    table.columns.push_back({"over_time", std::string(kSparklineUnit), kAlwaysShown});
  }
  for (const size_t dimension : columns->dimensions) {
    table.columns.push_back({series.columns[dimension].name, "", kAlwaysShown});
  }
  table.notes.push_back(fmt::format("mean, min, max and last {} of the steps; {}--long lists every step",
                                    value.name,
                                    style.has_blocks ? "over_time is from 0 to the row's max; " : ""));
  const StepAxis axis(*rows);
  const size_t line_width = std::clamp(style.width * 3 / 8, kNarrowestLine, kWidestLine);
  for (const FollowedRow& row : *rows) {
    auto& cells = table.rows.emplace_back();
    add_statistics(row, cells);
    if (style.has_blocks) {
      cells.emplace_back(sparkline(axis.values_of(row), line_width));
    }
    cells.insert(cells.end(), row.key.begin(), row.key.end());
  }
  return table;
}

}  // namespace plimsoll::query
