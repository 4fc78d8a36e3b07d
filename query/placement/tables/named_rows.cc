#include "query/placement/tables/named_rows.h"

#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

namespace plimsoll::query {

Result<NamedRows> NamedRows::read(const NamedText& text, std::initializer_list<std::string_view> columns) {
  auto table = formats::read_csv(text.text);
  if (!table) {
    return propagate(table, "{}", text.name);
  }
  NamedRows rows;
  rows.name_ = text.name;
  rows.table_ = std::move(*table);
  for (const std::string_view column : columns) {
    if (!rows.has(column)) {
      return with_hint(fail(ErrorCode::kInvalid, "{}: no such column: \"{}\"", text.name, column),
                       fmt::format("the first line must name the columns: {}", fmt::join(columns, ",")));
    }
  }
  return rows;
}

const std::string& NamedRows::text(const formats::CsvTable::Row& row, std::string_view column) const {
  return row.fields[table_.column(column).value_or(0)];
}

Result<double> NamedRows::number(const formats::CsvTable::Row& row, std::string_view column) const {
  const std::string& field = text(row, column);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value)) {
    return fail(ErrorCode::kInvalid, "{}: line {}: {} must be a number, is \"{}\"", name_, row.line, column,
                field);
  }
  if (value < 0) {
    return fail(ErrorCode::kInvalid, "{}: line {}: {} is {}, must not be negative", name_, row.line, column,
                value);
  }
  return value;
}

Result<double> NamedRows::positive(const formats::CsvTable::Row& row, std::string_view column) const {
  auto value = number(row, column);
  if (value && *value == 0) {
    return fail(ErrorCode::kInvalid, "{}: line {}: {} is 0, must be above 0", name_, row.line, column);
  }
  return value;
}

}  // namespace plimsoll::query
