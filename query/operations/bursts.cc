#include "query/operations/bursts.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hex.h"
#include "base/time.h"
#include "traces/bursts/burst_config.h"

namespace plimsoll::query {
namespace {

Value row_count(uint64_t count) {
  return static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX));
}

// Whether its bursts were at the time of those of other machines.
std::string clock_text(const store::StoredBursts& recording, const Result<traces::BurstConfig>& config) {
  const bool is_off = !config || is_clock_off(recording.clock, *config);
  return !recording.clock.is_synchronized ? "not synchronized" : is_off ? "may be off" : "synchronized";
}

std::vector<Value> row_of(const store::StoredBursts& recording) {
  const auto config = traces::BurstConfig::of_bits(recording.config_bits);
  return {format_time(recording.begin_ns),
          format_time(recording.end_ns),
          recording.machine,
          config ? config->text() : std::string("unknown"),
          row_count(recording.bursts),
          row_count(recording.events),
          row_count(recording.lost),
          recording.clock.is_synchronized ? Value(recording.clock.max_error_ns) : Value(),
          clock_text(recording, config),
          row_count(recording.bytes),
          recording.draw,
          format_time(recording.received_ns),
          to_hex(recording.id)};
}

}  // namespace

Result<BurstsRequest> parse_bursts(const Parameters& parameters, int64_t now_ns) {
  BurstsRequest request;
  Selection selection;
  const std::vector<Parameter> all{text_parameter("machine", request.machine),
                                   text_parameter("draw", request.draw), since_parameter(now_ns, selection),
                                   until_parameter(now_ns, selection),
                                   count_parameter("limit", kMaxRows, request.limit)};
  Status read = read_parameters(parameters, all);
  read = read ? check_selection(selection) : read;
  if (!read) {
    return propagate(read);
  }
  request.since_ns = selection.since_ns;
  request.until_ns = selection.until_ns;
  return request;
}

Result<Table> bursts(const BurstsRequest& request, store::BurstSource& source) {
  const auto found = source.list({.times = {request.since_ns, request.until_ns},
                                  .machine = request.machine,
                                  .draw = request.draw,
                                  .newest = request.limit + 1});
  if (!found) {
    return propagate(found);
  }
  Table table;
  table.columns = {{"begin", ""},       {"end", ""},         {"machine", ""},   {"config", ""},
                   {"bursts", "count"}, {"events", "count"}, {"lost", "count"}, {"clock_error", "ns"},
                   {"clock", ""},       {"bytes", "bytes"},  {"draw", ""},      {"received", ""},
                   {"id", ""}};
  for (const store::StoredBursts& recording :
       *found | std::views::reverse | std::views::take(request.limit)) {
    table.rows.push_back(row_of(recording));
  }
  if (found->size() > table.rows.size()) {
    table.notes.push_back(
        fmt::format("showing the newest {} recordings: --limit shows more", table.rows.size()));
  }
  if (found->empty()) {
    table.notes.emplace_back(
        "there are no recordings of bursts of that selection: draws make them (bursts.config), and "
        "\"plimsoll "
        "bursts upload\" sends them");
  }
  return table;
}

}  // namespace plimsoll::query
