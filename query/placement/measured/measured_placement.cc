#include "query/placement/measured/measured_placement.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "base/share.h"

namespace plimsoll::query {
namespace {

constexpr const char* kMeasuredName = "what was measured";
// Today's placement fills its own room to the last unit: the solver is to find it within its tolerance.
constexpr double kSlack = 1e-7;
constexpr double kMaxUnknownCost = 1e6;

Parameter room_parameter(std::map<std::string, double, std::less<>>& room) {
  return {"room", [&room](const std::string& text) -> Status {
            // Names of platforms may have a "=".
            const size_t place = text.rfind('=');
            const auto more = place == std::string::npos
                                  ? std::nullopt
                                  : parse_share(std::string_view(text).substr(place + 1));
            if (!more || place == 0) {
              return invalid_parameter("room", text, "PLATFORM=SHARE, such as rome=30%");
            }
            room[text.substr(0, place)] = *more;
            return {};
          }};
}

Parameter rows_parameter(PlacementRows& rows) {
  static constexpr std::array kNames{
      std::pair("placement", PlacementRows::kPlacement), std::pair("platform", PlacementRows::kPlatform),
      std::pair("move", PlacementRows::kMove), std::pair("summary", PlacementRows::kSummary)};
  return {"by", [&rows](const std::string& text) -> Status {
            for (const auto& [name, value] : kNames) {
              if (text == name) {
                rows = value;
                return {};
              }
            }
            return invalid_parameter("by", text, "placement, platform, move or summary");
          }};
}

Result<CapacityTable> rooms_of(const MeasuredPlacementRequest& request, const MeasuredPairs& measured) {
  std::map<std::string, double, std::less<>> used;
  for (const MeasuredPair& pair : measured.pairs) {
    used[pair.platform] += pair.cpi * pair.load;
  }
  for (const auto& [platform, more] : request.room) {
    if (!used.contains(platform)) {
      return with_field(
          fail(ErrorCode::kNotFound, "nothing that was measured runs on the platform {}", platform), "room");
    }
  }
  CapacityTable table{.name = kMeasuredName};
  for (const auto& [platform, use] : used) {
    const auto own = request.room.find(platform);
    const double more = own == request.room.end() ? request.headroom : own->second;
    table.rows.push_back(
        {.platform = platform, .capacity = use * (1 + more) * (1 + kSlack), .line = table.rows.size() + 2});
  }
  return table;
}

}  // namespace

Result<MeasuredPlacementRequest> parse_measured_placement(const Parameters& parameters, int64_t now_ns) {
  MeasuredPlacementRequest request;
  request.measured.now_ns = now_ns;
  double max_unknown_cost = 0;
  std::vector<Parameter> own = filter_parameters(now_ns, request.measured.selection);
  own.push_back(share_parameter("headroom", request.headroom));
  own.push_back(room_parameter(request.room));
  own.push_back(number_parameter("max_unknown_cost", 0, kMaxUnknownCost, max_unknown_cost));
  own.push_back(rows_parameter(request.rows));
  const auto read = read_parameters(parameters, own);
  const auto checked = read ? check_selection(request.measured.selection) : read;
  if (max_unknown_cost > 0) {
    request.max_unknown_cost = max_unknown_cost;
  }
  return checked ? Result<MeasuredPlacementRequest>(std::move(request)) : propagate(checked);
}

Result<Table> measured_placement(const MeasuredPlacementRequest& request, const Snapshot& snapshot,
                                 const LiveFleet& fleet) {
  const auto measured = measure_pairs(request.measured, snapshot, fleet);
  if (measured && measured->pairs.empty()) {
    return with_hint(fail(ErrorCode::kNotFound, "no job with cycles and instructions was measured: {}",
                          measured->notes.empty() ? "there are no profiles" : measured->notes.front()),
                     "remove filters, or choose a longer time");
  }
  auto rooms = measured ? rooms_of(request, *measured) : propagate(measured);
  if (!rooms) {
    return propagate(rooms);
  }
  auto table = placement_table({.tables = {.costs = costs_of(*measured, kMeasuredName),
                                           .jobs = loads_of(*measured, kMeasuredName),
                                           .platforms = std::move(*rooms),
                                           .today = today_of(*measured, kMeasuredName)},
                                .max_unknown_cost = request.max_unknown_cost,
                                .rows = request.rows});
  if (!table) {
    return propagate(table);
  }
  table->notes.insert(table->notes.end(), measured->notes.begin(), measured->notes.end());
  table->event = measured->event;
  table->coverage = measured->coverage;
  return table;
}

}  // namespace plimsoll::query
