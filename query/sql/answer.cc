#include "query/sql/answer.h"

#include <algorithm>
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

// Characters, not bytes: those that do not continue a UTF-8 sequence.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

struct TextColumn {
  size_t width = 0;
  bool is_text = false;
};

void append_line(const std::vector<std::string>& cells, const std::vector<TextColumn>& columns,
                 std::string& text) {
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool is_last = i + 1 == cells.size();
    const std::string spaces(columns[i].width - width_of(cells[i]), ' ');
    text += columns[i].is_text ? cells[i] + (is_last ? "" : spaces) : spaces + cells[i];
    text += is_last ? "\n" : "  ";
  }
}

}  // namespace

std::string to_text(const SqlAnswer& answer) {
  std::vector<TextColumn> columns(answer.columns.size());
  std::vector<std::vector<std::string>> lines(1);
  for (const std::string& name : answer.columns) {
    lines[0].push_back(printable(name));
  }
  for (const auto& row : answer.rows) {
    auto& line = lines.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      line.push_back(cell_text(row[i]));
      columns[i].is_text |= std::holds_alternative<std::string>(row[i]);
    }
  }
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      columns[i].width = std::max(columns[i].width, width_of(line[i]));
    }
  }
  std::string text;
  for (const auto& line : lines) {
    append_line(line, columns, text);
  }
  return text;
}

std::string to_csv(const SqlAnswer& answer) {
  Table table;
  for (const std::string& name : answer.columns) {
    table.columns.push_back({name, ""});
  }
  table.rows = answer.rows;
  return to_csv(table);
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
  return text + "]}\n";
}

std::string to_form(const SqlAnswer& answer, TableForm form) {
  switch (form) {
    case TableForm::kText:
      return to_text(answer);
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
    return fail(ErrorCode::kCorrupt, "the answer is not that of a statement");
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
      return fail(ErrorCode::kCorrupt, "a row of the answer has not its columns");
    }
    auto& row = answer.rows.emplace_back();
    for (const Json& cell : cells) {
      row.push_back(value_of(cell));
    }
  }
  return answer;
}

}  // namespace plimsoll::query
