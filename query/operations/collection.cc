#include "query/operations/collection.h"

#include "base/time.h"

namespace plimsoll::query {
namespace {

using store::StopStep;

std::string time_text(int64_t wall_ns) {
  return format_time(wall_ns / kNsPerSecond * kNsPerSecond);
}

}  // namespace

Result<CollectionRequest> parse_collection(const Parameters& parameters, int64_t /*now_ns*/) {
  const auto read = read_parameters(parameters, {});
  return read ? Result<CollectionRequest>(CollectionRequest()) : propagate(read);
}

Table collection(const std::vector<store::Stop>& stops) {
  Table table;
  table.columns = {{"stopped", ""}, {"which", ""}, {"measured", ""}, {"by", ""},
                   {"since", ""},   {"next", ""},  {"reason", ""}};
  for (const store::Stop& stop : stops) {
    if (stop.step == StopStep::kAll) {
      continue;
    }
    table.rows.push_back({std::string(name_of(stop.scope)), stop.value, std::string(name_of(stop.step)),
                          std::string(stop.by_hand ? "hand" : "failures"), time_text(stop.since_ns),
                          stop.by_hand ? Value() : Value(time_text(stop.next_ns)), stop.reason});
  }
  if (table.rows.empty()) {
    table.notes.emplace_back("collection is running: nothing is stopped");
  }
  return table;
}

std::vector<std::string> stop_notes(const std::vector<store::Stop>& stops) {
  std::vector<std::string> notes;
  for (const store::Stop& stop : stops) {
    if (stop.step == StopStep::kAll) {
      continue;
    }
    notes.push_back(fmt::format(
        "ALARM: collection of {} is {} since {}: {}", name_of(stop),
        stop.step == StopStep::kNothing ? "stopped" : fmt::format("limited to {}", name_of(stop.step)),
        time_text(stop.since_ns), stop.reason));
  }
  return notes;
}

}  // namespace plimsoll::query
