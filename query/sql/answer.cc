#include "query/sql/answer.h"

#include <nlohmann/json.hpp>

#include "base/printable.h"

namespace plimsoll::query {
namespace {

using Json = nlohmann::json;

Json json_of(const Value& value) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

Value value_of(const Json& json) {
  if (json.is_string()) {
    return json.get<std::string>();
  }
  if (json.is_number_integer()) {
    return json.get<int64_t>();
  }
  return json.is_number() ? Value(json.get<double>()) : Value();
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// As many digits as are the same on every machine, but no more than people ask for.
std::string cell_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return printable(*text);
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return fmt::format("{}", *whole);
  }
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? "-" : fmt::format("{:.12g}", *real);
}

}  // namespace

std::string to_text(const SqlAnswer& answer, const TextStyle& style) {
  std::vector<GridColumn> columns;
  for (const std::string& name : answer.columns) {
    columns.push_back({.header = {printable(name), Emphasis::kBold}, .cells = {}});
  }
  for (const auto& row : answer.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      columns[i].cells.push_back({cell_text(row[i])});
      columns[i].is_text |= std::holds_alternative<std::string>(row[i]);
    }
  }
  return to_grid(std::move(columns), style, GridFit::kEveryColumn).text;
}

std::string to_csv(const SqlAnswer& answer) {
  Table table;
  for (const std::string& name : answer.columns) {
    table.columns.push_back({name, ""});
  }
  table.rows = answer.rows;
  return to_form(table, TableForm::kCsv);
}

std::string to_json(const SqlAnswer& answer) {
  std::string text = fmt::format("{{\"notes\": {},\n \"columns\": {},\n \"rows\": [", line_of(answer.notes),
                                 line_of(answer.columns));
  for (size_t i = 0; i < answer.rows.size(); ++i) {
    Json row = Json::array();
    for (const Value& value : answer.rows[i]) {
      row.push_back(json_of(value));
    }
    text += (i == 0 ? "\n  " : ",\n  ") + line_of(row);
  }
  return visible_json(text + "]}\n");
}

std::string to_form(const SqlAnswer& answer, TableForm form, const TextStyle& style) {
  switch (form) {
    case TableForm::kText:
      return to_text(answer, style);
    case TableForm::kJson:
      return to_json(answer);
    case TableForm::kCsv:
      return to_csv(answer);
  }
  return {};
}

Result<SqlAnswer> sql_answer_from_json(std::string_view text) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto is_list = [&](const char* key) {
    return document.is_object() && document.contains(key) && document[key].is_array();
  };
  if (!is_list("notes") || !is_list("columns") || !is_list("rows")) {
    return fail(ErrorCode::kCorrupt, "the response is not the result of a statement");
  }
  SqlAnswer answer;
  for (const Json& note : document["notes"]) {
    answer.notes.push_back(note.is_string() ? note.get<std::string>() : "");
  }
  for (const Json& column : document["columns"]) {
    answer.columns.push_back(column.is_string() ? column.get<std::string>() : "");
  }
  for (const Json& cells : document["rows"]) {
    if (!cells.is_array() || cells.size() != answer.columns.size()) {
      return fail(ErrorCode::kCorrupt, "a row of the result lacks columns");
    }
    auto& row = answer.rows.emplace_back();
    for (const Json& cell : cells) {
      row.push_back(value_of(cell));
    }
  }
  return answer;
}

}  // namespace plimsoll::query
