#include "query/series_files/records.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/time.h"
#include "formats/csv.h"

namespace plimsoll::query {
namespace {

Status missing_column(std::span<const WantedColumn> columns, std::string_view name) {
  std::vector<std::string_view> required;
  for (const WantedColumn& column : columns) {
    if (column.is_required) {
      required.push_back(column.name);
    }
  }
  return with_hint(fail(ErrorCode::kInvalid, "no such column: \"{}\"", name),
                   fmt::format("required: {}", fmt::join(required, ",")));
}

// Where the wanted columns stand in the line of names.
Result<std::vector<std::optional<size_t>>> places_of(std::span<const WantedColumn> columns,
                                                     std::span<const std::string_view> names) {
  std::vector<std::optional<size_t>> places;
  for (const WantedColumn& column : columns) {
    const auto at = std::ranges::find(names, column.name);
    if (at == names.end() && column.is_required) {
      return propagate(missing_column(columns, column.name));
    }
    places.push_back(at == names.end() ? std::nullopt
                                       : std::optional(static_cast<size_t>(at - names.begin())));
  }
  return places;
}

Status for_each_line(std::string_view text, std::span<const WantedColumn> columns, const TakeRecord& take) {
  std::vector<std::optional<size_t>> places;
  std::vector<std::string_view> wanted(columns.size());
  return formats::for_each_csv_row(text,
                                   [&](uint64_t line, std::span<const std::string_view> fields) -> Status {
                                     if (places.empty()) {
                                       auto found = places_of(columns, fields);
                                       if (!found) {
                                         return propagate(found);
                                       }
                                       places = *std::move(found);
                                       return {};
                                     }
                                     for (size_t i = 0; i < places.size(); ++i) {
                                       wanted[i] = places[i] ? fields[*places[i]] : std::string_view();
                                     }
                                     const Status taken = take(line, wanted);
                                     return taken ? taken : propagate(taken, "line {}", line);
                                   });
}

std::string text_of(const nlohmann::json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  return value.is_number() ? value.dump() : std::string();
}

Status for_each_object(std::string_view text, std::span<const WantedColumn> columns, const TakeRecord& take) {
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool has_rows = document.is_object() && document.contains("rows");
  if (document.is_discarded()) {
    return fail(ErrorCode::kCorrupt, "this is no JSON");
  }
  const nlohmann::json& rows = has_rows ? document["rows"] : document;
  if (!rows.is_array()) {
    return fail(ErrorCode::kCorrupt, "an array of objects is expected");
  }
  uint64_t number = 0;
  std::vector<std::string> texts(columns.size());
  std::vector<std::string_view> fields(columns.size());
  for (const nlohmann::json& row : rows) {
    ++number;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string name(columns[i].name);
      const bool has = row.is_object() && row.contains(name);
      if (!has && columns[i].is_required) {
        return propagate(missing_column(columns, name), "record {}", number);
      }
      texts[i] = has ? text_of(row[name]) : std::string();
      fields[i] = texts[i];
    }
    if (const Status taken = take(number, fields); !taken) {
      return propagate(taken, "record {}", number);
    }
  }
  return {};
}

std::optional<double> parse_number(std::string_view field) {
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const bool is_all = error == std::errc() && end == field.data() + field.size();
  return is_all && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// Until 2255; sums with a step or a slot remain within 64 bits.
constexpr int64_t kMaxTimeNs = 9'000'000'000 * kNsPerSecond;

// Seconds as they are written: a double holds times of today to a quarter of a microsecond only.
std::optional<int64_t> parse_seconds_ns(std::string_view field) {
  constexpr size_t kMaxDigits = 10;
  constexpr size_t kFractionDigits = 9;  // of nanoseconds; more are cut off
  const size_t point = std::min(field.find('.'), field.size());
  const std::string_view fraction = field.substr(std::min(point + 1, field.size()));
  const auto is_digits = [](std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  if (point == 0 || !is_digits(field.substr(0, point)) || !is_digits(fraction)) {
    const auto value = parse_number(field);  // with an exponent
    const bool is_time = value && *value >= 0 && *value * 1e9 <= static_cast<double>(kMaxTimeNs);
    return is_time ? std::optional(static_cast<int64_t>(std::llround(*value * 1e9))) : std::nullopt;
  }
  if (point > kMaxDigits) {
    return std::nullopt;
  }
  int64_t time_ns = 0;
  for (const char digit : field.substr(0, point)) {
    time_ns = time_ns * 10 + (digit - '0');
  }
  if (time_ns > kMaxTimeNs / kNsPerSecond) {
    return std::nullopt;
  }
  for (size_t i = 0; i < kFractionDigits; ++i) {
    time_ns = time_ns * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  }
  return time_ns;
}

}  // namespace

Status for_each_record(const NamedSeries& series, std::span<const WantedColumn> columns,
                       const TakeRecord& take) {
  const size_t begin = series.text.find_first_not_of(" \t\r\n");
  const bool is_json =
      begin != std::string_view::npos && (series.text[begin] == '[' || series.text[begin] == '{');
  const Status done =
      is_json ? for_each_object(series.text, columns, take) : for_each_line(series.text, columns, take);
  return done ? done : propagate(done, "{}", series.name);
}

Result<int64_t> time_field(std::string_view field) {
  // Times relative to now are no times of a file.
  const auto seconds = parse_seconds_ns(field);
  const auto time = seconds || moves_with_clock(field) ? seconds : parse_time_ns(field, 0);
  if (!time || *time < 0 || *time > kMaxTimeNs) {
    return fail(ErrorCode::kInvalid, "time must be RFC 3339 or seconds since 1970, is \"{}\"", field);
  }
  return *time;
}

Result<double> number_field(std::string_view name, std::string_view field) {
  const auto value = parse_number(field);
  if (!value || *value < 0) {
    return fail(ErrorCode::kInvalid, "{} must be a number of at least 0, is \"{}\"", name, field);
  }
  return *value;
}

}  // namespace plimsoll::query
