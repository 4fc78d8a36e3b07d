#include "query/series_files/percentile_table.h"

#include <fmt/format.h>

#include "base/time.h"

namespace plimsoll::query {
namespace {

using statistics::PercentileVerdict;

std::string text_of(PercentileVerdict verdict) {
  switch (verdict) {
    case PercentileVerdict::kMore:
      return "more";
    case PercentileVerdict::kLess:
      return "less";
    case PercentileVerdict::kNoDifference:
      return "no difference found";
    case PercentileVerdict::kTooFewUsers:
      return "too few users";
    case PercentileVerdict::kTooLittleTime:
      return "too little time";
    case PercentileVerdict::kZero:
      return "a percentile is 0, or may be";
  }
  return "";
}

Value maybe(const std::optional<double>& value) {
  return value ? Value(*value) : Value();
}

}  // namespace

Table table_of(const statistics::PercentileComparison& comparison,
               const statistics::PercentileRequest& request) {
  Table table;
  table.columns = {{"percentile", ""},   {"control", ""},      {"test", ""},
                   {"change", "share"},  {"from", "share"},    {"to", "share"},
                   {"users_beyond", ""}, {"users_needed", ""}, {"verdict", ""}};
  for (const statistics::PercentileChange& row : comparison.rows) {
    const bool has_change = row.control > 0 && row.test > 0;
    table.rows.push_back({fmt::format("{:g}", row.share * 100), row.control, row.test,
                          has_change ? Value(row.change) : Value(), maybe(row.low), maybe(row.high),
                          row.users_beyond, maybe(row.users_needed), text_of(row.verdict)});
  }
  table.notes.push_back(
      fmt::format("control {} users, test {} users, {} in common; from and to: 95 % interval of the change",
                  comparison.control_users, comparison.test_users, format_duration(comparison.time_ns)));
  constexpr double kAll = 0.9995;
  if (comparison.control_matched < kAll || comparison.test_matched < kAll) {
    table.notes.push_back(
        fmt::format("compared where both arms have values at the same time and place: {:.1f} % of the "
                    "control, {:.1f} % of the test",
                    comparison.control_matched * 100, comparison.test_matched * 100));
  }
  if (request.detect > 0) {
    table.notes.push_back(fmt::format(
        "users_needed: per arm, to detect a change of {:g} % with a power of 80 %", request.detect * 100));
  }
  return table;
}

}  // namespace plimsoll::query
