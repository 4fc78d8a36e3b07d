#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/time.h"
#include "query/table/coverage_json.h"
#include "query/table/table.h"

namespace plimsoll::query {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return *text;
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return *whole;
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return *real;
  }
  return nullptr;
}

Value value_of(const Json& json) {
  if (json.is_string()) {
    return json.get<std::string>();
  }
  if (json.is_number_integer()) {
    return json.get<int64_t>();
  }
  if (json.is_number()) {
    return json.get<double>();
  }
  return {};
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

Json coverage_json(const Coverage& coverage) {
  Json unsymbolized_by = Json::array();
  for (const UnsymbolizedBinary& binary : coverage.unsymbolized_by) {
    unsymbolized_by.push_back({{"binary", binary.binary},
                               {"build_id", binary.build_id},
                               {"share", binary.share},
                               {"reason", binary.reason}});
  }
  return {{"from", format_time(coverage.from_ns)},
          {"to", format_time(coverage.to_ns)},
          {"machines_drawn", coverage.machines_drawn},
          {"machines_live", coverage.machines_live},
          {"samples", coverage.samples},
          {"lost", coverage.lost},
          {"stackless_share", coverage.stackless_share},
          {"unsymbolized_share", coverage.unsymbolized_share},
          {"unsymbolized_by", std::move(unsymbolized_by)}};
}

Coverage coverage_from(const Json& json) {
  Coverage coverage;
  coverage.from_ns = parse_time_ns(text_at(json, "from"), 0).value_or(0);
  coverage.to_ns = parse_time_ns(text_at(json, "to"), 0).value_or(0);
  coverage.machines_drawn = static_cast<int64_t>(number_at(json, "machines_drawn"));
  coverage.machines_live = static_cast<int64_t>(number_at(json, "machines_live"));
  coverage.samples = static_cast<int64_t>(number_at(json, "samples"));
  coverage.lost = static_cast<int64_t>(number_at(json, "lost"));
  coverage.stackless_share = number_at(json, "stackless_share");
  coverage.unsymbolized_share = number_at(json, "unsymbolized_share");
  if (const auto list = json.find("unsymbolized_by"); list != json.end() && list->is_array()) {
    for (const Json& entry : *list) {
      coverage.unsymbolized_by.push_back({text_at(entry, "binary"), text_at(entry, "build_id"),
                                          number_at(entry, "share"), text_at(entry, "reason")});
    }
  }
  return coverage;
}

std::string to_json(const Table& table) {
  Json document;
  document["event"] = table.event;
  document["notes"] = table.notes;
  document["columns"] = Json::array();
  for (const TableColumn& column : table.columns) {
    document["columns"].push_back({{"name", column.name}, {"unit", column.unit}});
  }
  document["rows"] = Json::array();
  for (const auto& row : table.rows) {
    Json object = Json::object();
    for (size_t i = 0; i < row.size(); ++i) {
      object[table.columns[i].name] = json_of(row[i]);
    }
    document["rows"].push_back(std::move(object));
  }
  document["coverage"] = coverage_json(table.coverage);
  return visible_json(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<Table> from_json(std::string_view text) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool has_shape = document.is_object() && document.contains("columns") &&
                         document["columns"].is_array() && document.contains("rows") &&
                         document["rows"].is_array() && document.contains("coverage");
  if (!has_shape) {
    return fail(ErrorCode::kCorrupt, "the response is not a JSON table");
  }
  Table table;
  table.event = text_at(document, "event");
  table.coverage = coverage_from(document["coverage"]);
  if (document.contains("notes")) {
    for (const Json& note : document["notes"]) {
      table.notes.push_back(note.is_string() ? note.get<std::string>() : std::string());
    }
  }
  for (const Json& column : document["columns"]) {
    table.columns.push_back({text_at(column, "name"), text_at(column, "unit")});
  }
  for (const Json& object : document["rows"]) {
    auto& row = table.rows.emplace_back();
    for (const TableColumn& column : table.columns) {
      row.push_back(object.contains(column.name) ? value_of(object[column.name]) : Value());
    }
  }
  return table;
}

}  // namespace plimsoll::query
