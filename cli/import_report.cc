#include "cli/import_report.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/printable.h"
#include "proto/profile_codec.h"
#include "query/selection/selection.h"
#include "query/table/table.h"

namespace plimsoll::cli {

std::vector<EventReport> event_reports(const wire::RawProfile& profile) {
  std::vector<EventReport> reports;
  for (const wire::Event& event : profile.events()) {
    if (event.kind() == wire::SQUARES) {
      continue;
    }
    const uint64_t samples = event.samples() == 0 ? event.hits() : event.samples();
    const double value = wire::scale_of(event) * static_cast<double>(event.hits());
    reports.push_back({event.name(), samples, event.lost(), event.hits(), value, event.unit()});
  }
  return reports;
}

std::string summary_line(const std::vector<EventReport>& events) {
  std::string line;
  for (const EventReport& event : events) {
    line +=
        fmt::format("{}{} of {} in {} samples", line.empty() ? "" : ", ",
                    query::readable(event.value, query::unit_name(event.unit)), event.name, event.samples);
  }
  return line.empty() ? "no events" : line;
}

ImportTable::ImportTable() {
  table_.columns = {{"file", ""},      {"event", ""}, {"samples", "count"}, {"lost", "count"},
                    {"hits", "count"}, {"value", ""}, {"unit", ""},         {"error", ""}};
}

void ImportTable::add(const std::string& file, const std::vector<EventReport>& events) {
  for (const EventReport& event : events) {
    table_.rows.push_back({file, event.name, static_cast<int64_t>(event.samples),
                           static_cast<int64_t>(event.lost), static_cast<int64_t>(event.hits), event.value,
                           std::string(query::unit_name(event.unit)), query::Value()});
  }
}

void ImportTable::add_failure(const std::string& file, const Error& error) {
  std::vector<query::Value>& row = table_.rows.emplace_back();
  row.emplace_back(file);
  row.resize(table_.columns.size() - 1);
  row.emplace_back(error.text());
}

std::string ImportTable::json_by_line() const {
  auto document = nlohmann::ordered_json::parse(query::to_json(table_));
  const nlohmann::ordered_json rows = document["rows"];
  document.erase("rows");
  std::string text = " " + document.dump();
  text.pop_back();  // the closing brace
  text += ", \"rows\": [\n";
  std::string_view separator;
  for (const auto& row : rows) {
    text += separator;
    text += row.dump() + "\n";
    separator = ",\n";
  }
  return visible_json(text + "]}\n");
}

}  // namespace plimsoll::cli
