#include "query/placement/measured/measured_pairs.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/time.h"
#include "query/selection/machine_filter.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/event_pair.h"
#include "query/views/ratio.h"
#include "store/model/wire_entries.h"

namespace plimsoll::query {
namespace {

constexpr const char* kCpi = "cycles/instructions";
constexpr size_t kAll = 100'000'000;

// All machines of a platform, and the part of their time that the samples stand for.
struct PlatformTime {
  std::set<std::string> seen;  // machines
  int64_t live = 0;
  double observed_ns = 0;  // of all of them together

  double machines() const { return static_cast<double>(live > 0 ? live : static_cast<int64_t>(seen.size())); }
};

std::map<std::string, PlatformTime> times_of(const MeasuredPairsRequest& request, const EventPair& events,
                                             const Snapshot& snapshot, const LiveFleet& fleet) {
  std::map<std::string, PlatformTime> platforms;
  const auto resolved = resolve_together(request.selection, events.distinct(), snapshot);
  const std::vector<double> by_origin = exposures(resolved, snapshot);
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  for (size_t origin = 0; origin < by_origin.size(); ++origin) {
    if (by_origin[origin] > 0) {
      const store::MachineEntry& machine = dictionaries.machines[dictionaries.origins[origin].machine];
      PlatformTime& platform = platforms[machine.platform];
      platform.seen.insert(machine.machine_id);
      platform.observed_ns += by_origin[origin];
    }
  }
  for (const store::LiveMachine& machine : fleet.machines) {
    if (machine.is_live(request.now_ns) &&
        is_asked_about(store::machine_entry(machine.attributes), request.selection.where)) {
      ++platforms[machine.attributes.platform()].live;
    }
  }
  return platforms;
}

}  // namespace

Result<MeasuredPairsRequest> parse_measured_pairs(const Parameters& parameters, int64_t now_ns) {
  MeasuredPairsRequest request{.now_ns = now_ns};
  const auto read = read_parameters(parameters, filter_parameters(now_ns, request.selection));
  const auto checked = read ? check_selection(request.selection) : read;
  return checked ? Result<MeasuredPairsRequest>(std::move(request)) : propagate(checked);
}

Result<Table> measured_pairs(const MeasuredPairsRequest& request, const Snapshot& snapshot,
                             const LiveFleet& fleet) {
  const auto events = find_pair(kCpi, snapshot);
  if (!events) {
    return propagate(events);
  }
  const RatioRequest ratio{
      request.selection, kCpi, {*find_dimension("job"), *find_dimension("platform")}, kAll, true};
  const auto measured = ratio_table(ratio, snapshot);
  if (!measured) {
    return propagate(measured);
  }
  const auto platforms = times_of(request, *events, snapshot, fleet);
  const size_t cpi = column_of(*measured, "ratio");
  const size_t margin = column_of(*measured, "ratio_margin");
  const size_t kind = column_of(*measured, "margin_kind");
  const size_t instructions = column_of(*measured, "denominator");
  Table table;
  table.event = measured->event;
  table.notes = measured->notes;
  table.coverage = measured->coverage;
  table.columns = {{"job", ""},         {"platform", ""},    {"cpi", kCpi},        {"margin", kCpi},
                   {"margin_kind", ""}, {"load", "count/s"}, {"machines", "count"}};
  size_t left_out = 0;
  for (const auto& row : measured->rows) {
    const auto platform = platforms.find(std::get<std::string>(row[1]));
    if (std::holds_alternative<std::monostate>(row[cpi]) || platform == platforms.end() ||
        platform->second.observed_ns <= 0) {
      ++left_out;
      continue;
    }
    const PlatformTime& time = platform->second;
    const double load =
        std::get<double>(row[instructions]) / time.observed_ns * kNsPerSecond * time.machines();
    table.rows.push_back(
        {row[0], row[1], row[cpi], row[margin], row[kind], load, static_cast<int64_t>(time.machines())});
  }
  std::ranges::sort(table.rows, {}, [](const std::vector<Value>& row) {
    return std::pair(std::get<std::string>(row[0]), std::get<std::string>(row[1]));
  });
  if (left_out > 0) {
    table.notes.push_back(fmt::format(
        "{} pairs of job and platform have no samples of cycles or instructions and are not listed",
        left_out));
  }
  return table;
}

}  // namespace plimsoll::query
