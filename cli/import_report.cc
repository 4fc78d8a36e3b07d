#include "cli/import_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

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

std::string json_lines(const std::string& file, const std::vector<EventReport>& events) {
  std::string lines;
  for (const EventReport& event : events) {
    nlohmann::ordered_json row;
    row["file"] = printable(file);
    row["event"] = event.name;
    row["samples"] = event.samples;
    row["lost"] = event.lost;
    row["hits"] = event.hits;
    row["value"] = event.value;
    row["unit"] = query::unit_name(event.unit);
    lines += row.dump() + "\n";
  }
  return lines;
}

}  // namespace plimsoll::cli
