#include "query/views/measure.h"

#include "base/time.h"

namespace plimsoll::query {
namespace {

bool is_snapshot(const store::EventEntry& event) {
  return event.kind == wire::SNAPSHOT;
}

}  // namespace

Parameter measure_parameter(Measure& measure) {
  return {"measure", [&measure](const std::string& text) -> Status {
            if (text != "share" && text != "rate") {
              return invalid_parameter("measure", text, "share or rate");
            }
            measure = text == "rate" ? Measure::kRate : Measure::kShare;
            return {};
          }};
}

statistics::Statistic statistic_of(Measure measure) {
  return measure == Measure::kShare ? statistics::Statistic::kShare : statistics::Statistic::kRate;
}

TableColumn measure_column(Measure measure, const store::EventEntry& event) {
  if (measure == Measure::kShare) {
    return {"share", "share"};
  }
  return {"rate", fmt::format("{}{}", unit_name(event.unit), is_snapshot(event) ? "" : "/s")};
}

std::vector<double> rate_exposures(const ResolvedSelection& selection, const Snapshot& snapshot) {
  std::vector<double> by_origin = exposures(selection, snapshot);
  const double unit = is_snapshot(snapshot.dictionaries.events[selection.event]) ? 1 : kNsPerSecond;
  for (double& exposure : by_origin) {
    exposure /= unit;
  }
  return by_origin;
}

}  // namespace plimsoll::query
