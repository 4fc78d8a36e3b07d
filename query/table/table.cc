#include "query/table/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace plimsoll::query {
namespace {

std::string csv_cell(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (text->find_first_of(",\"\r\n") == std::string::npos) {
      return *text;
    }
    std::string quoted = "\"";
    for (const char c : *text) {
      quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted + "\"";
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return fmt::format("{}", *whole);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return fmt::format("{}", *real);
  }
  return {};
}

Table for_spreadsheets(Table table) {
  for (TableColumn& column : table.columns) {
    column.name = spreadsheet_text(column.name);
  }
  for (auto& row : table.rows) {
    for (Value& value : row) {
      if (auto* text = std::get_if<std::string>(&value)) {
        *text = spreadsheet_text(*text);
      }
    }
  }
  return table;
}

}  // namespace

size_t column_of(const Table& table, std::string_view name) {
  return static_cast<size_t>(std::ranges::find(table.columns, name, &TableColumn::name) -
                             table.columns.begin());
}

std::string to_csv(const Table& table) {
  std::string text;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    text += (i == 0 ? "" : ",") + csv_cell(table.columns[i].name);
  }
  text += "\r\n";
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += (i == 0 ? "" : ",") + csv_cell(row[i]);
    }
    text += "\r\n";
  }
  return text;
}

std::string to_form(const Table& table, TableForm form, const TextStyle& style) {
  switch (form) {
    case TableForm::kText:
      return to_text(table, style);
    case TableForm::kJson:
      return to_json(table);
    case TableForm::kCsv:
      return to_csv(for_spreadsheets(table));
  }
  return {};
}

}  // namespace plimsoll::query
