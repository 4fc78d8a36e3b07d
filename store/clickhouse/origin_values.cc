#include "store/clickhouse/origin_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/hex.h"
#include "store/clickhouse/row_binary.h"

namespace plimsoll::store::clickhouse {
namespace {

// Statements with tables stand in the URL, which has a limit: of more events the groups are a column of the table.
constexpr size_t kMaxListedEvents = 50;

// Neighbours among origins that are alike.
struct Run {
  uint32_t event = 0;
  uint32_t first = 0;
  uint32_t origins = 0;
};

// Selected, and of a measure each: those that rows may have.
struct ValuedEvents {
  std::vector<uint32_t> ids;
  bool are_all_selected = true;  // no other event is selected
};

// Where a measure lacks the factor of an origin, so does the row: which is an error if there is such a row.
size_t origins_with_factors(const AggregateRequest& request, uint32_t event) {
  size_t origins = SIZE_MAX;
  for (const Factors& factors : request.measures) {
    origins = std::min(origins, event < factors.size() ? factors[event].size() : 0);
  }
  return origins;
}

ValuedEvents valued_events(const AggregateRequest& request) {
  const IdSet& selected = request.filter[Column::kEvent];
  ValuedEvents events{{}, !selected.is_all()};
  uint64_t listed = 0;
  for (uint32_t event = 0; event < request.measures[0].size(); ++event) {
    if (selected.selects(event) && origins_with_factors(request, event) > 0) {
      events.ids.push_back(event);
    }
  }
  for (const IdRange& range : selected.ranges()) {
    listed += uint64_t{range.last} - range.first + 1;
  }
  events.are_all_selected = events.are_all_selected && listed == events.ids.size();
  return events;
}

// Whether two origins of an event differ in nothing that the server is told of them.
bool are_alike(const AggregateRequest& request, uint32_t event, uint32_t a, uint32_t b) {
  const std::span<const uint32_t> machine_group = request.machine_group.values();
  return request.group[Column::kOrigin].of(a) == request.group[Column::kOrigin].of(b) &&
         group_number(machine_group, a) == group_number(machine_group, b) &&
         std::ranges::all_of(request.measures,
                             [&](const Factors& factors) { return factors[event][a] == factors[event][b]; });
}

// Whether two events have the same factors, of the origins that are selected.
bool have_same_factors(const AggregateRequest& request, uint32_t event, uint32_t other) {
  const size_t origins = origins_with_factors(request, event);
  return origins == origins_with_factors(request, other) &&
         std::ranges::all_of(request.measures, [&](const Factors& factors) {
           const std::span<const double> of_event = factors[event].values();
           const std::span<const double> of_other = factors[other].values();
           return of_event.data() == of_other.data() ||
                  std::ranges::all_of(request.filter[Column::kOrigin].ranges(), [&](const IdRange& range) {
                    const size_t end = std::min<size_t>(size_t{range.last} + 1, origins);
                    return range.first >= end || std::equal(of_event.begin() + range.first,
                                                            of_event.begin() + static_cast<ptrdiff_t>(end),
                                                            of_other.begin() + range.first);
                  });
         });
}

void add_runs(const AggregateRequest& request, uint32_t event, std::vector<Run>& runs) {
  const size_t origins = origins_with_factors(request, event);
  for (const IdRange& range : request.filter[Column::kOrigin].ranges()) {
    const auto end = static_cast<uint32_t>(std::min<size_t>(size_t{range.last} + 1, origins));
    for (uint32_t first = range.first; first < end;) {
      uint32_t next = first + 1;
      while (next < end && are_alike(request, event, first, next)) {
        ++next;
      }
      runs.push_back({event, first, next - first});
      first = next;
    }
  }
}

// Of a type that has this number, as few bytes as there are.
struct SmallNumber {
  explicit SmallNumber(uint32_t max) : bytes(max <= UINT8_MAX ? 1 : max <= UINT16_MAX ? 2 : 4) {}

  std::string type() const { return fmt::format("UInt{}", 8 * bytes); }
  void write(uint32_t value, RowBinaryWriter& rows) const {
    if (bytes == 1) {
      rows.number(static_cast<uint8_t>(value));
    } else if (bytes == 2) {
      rows.number(static_cast<uint16_t>(value));
    } else {
      rows.number(value);
    }
  }

  int bytes;
};

uint32_t max_of(std::span<const uint32_t> numbers) {
  return numbers.empty() ? 0 : *std::ranges::max_element(numbers);
}

// The table that is joined.
class ValueTable {
 public:
  // `with_events`: by event and origin, with the events' groups.
  ValueTable(const AggregateRequest& request, std::span<const Run> runs, bool with_events)
      : request_(request),
        with_events_(with_events),
        are_origins_listed_(takes_less_as_list(runs)),
        machine_group_(max_of(request.machine_group.values())) {
    for (const Run& run : runs) {
      add(run);
    }
  }

  ExternalTable table() {
    std::string structure = with_events_ ? "event UInt32, " : "";
    structure += are_origins_listed_ ? "origin UInt32" : "first_origin UInt32, run_length UInt32";
    structure += with_events_ ? ", group_of_event UInt32" : "";
    structure += has_origin_groups() ? ", group_of_origin UInt32" : "";
    structure +=
        has_machine_groups() ? fmt::format(", group_of_machine {}", machine_group_.type()) : std::string();
    for (size_t measure = 0; measure < request_.measures.size(); ++measure) {
      structure += fmt::format(", factor_{} Float64", measure);
    }
    return {"factors", structure, rows_.take()};
  }

  std::string join() const {
    std::string columns =
        are_origins_listed_ ? "origin" : "toUInt32(first_origin + arrayJoin(range(run_length))) AS origin";
    columns += with_events_ ? ", event, group_of_event" : "";
    columns += has_origin_groups() ? ", group_of_origin" : "";
    columns += has_machine_groups() ? ", group_of_machine" : "";
    for (size_t measure = 0; measure < request_.measures.size(); ++measure) {
      columns += fmt::format(", factor_{}", measure);
    }
    return fmt::format(
        " ANY LEFT JOIN (SELECT {}, toUInt8(1) AS has_factor FROM factors) AS weighed USING ({})", columns,
        with_events_ ? "event, origin" : "origin");
  }

  bool has_origin_groups() const { return !request_.group[Column::kOrigin].is_one(); }
  bool has_machine_groups() const { return !request_.machine_group.empty(); }

 private:
  static bool takes_less_as_list(std::span<const Run> runs) {
    uint64_t origins = 0;
    for (const Run& run : runs) {
      origins += run.origins;
    }
    return origins <= 2 * runs.size();
  }

  void add(const Run& run) {
    const uint32_t times = are_origins_listed_ ? run.origins : 1;
    for (uint32_t origin = run.first; origin < run.first + times; ++origin) {
      if (with_events_) {
        rows_.number(run.event);
      }
      rows_.number(origin);
      if (!are_origins_listed_) {
        rows_.number(run.origins);
      }
      if (with_events_) {
        rows_.number(request_.group[Column::kEvent].of(run.event));
      }
      if (has_origin_groups()) {
        rows_.number(request_.group[Column::kOrigin].of(origin));
      }
      if (has_machine_groups()) {
        machine_group_.write(group_number(request_.machine_group.values(), origin), rows_);
      }
      for (const Factors& factors : request_.measures) {
        rows_.number(factors[run.event][origin]);
      }
    }
  }

  const AggregateRequest& request_;
  const bool with_events_;
  const bool are_origins_listed_;  // each by its ID, else as runs
  const SmallNumber machine_group_;
  RowBinaryWriter rows_;
};

// Of all its bits: old servers round the digits of a number that stands in a statement.
std::string exact(double value) {
  const auto bits = std::bit_cast<std::array<char, sizeof(double)>>(value);
  return fmt::format("reinterpretAsFloat64(unhex('{}'))", to_hex({bits.data(), bits.size()}));
}

ValueOfRow group_of_event(const IdGrouping& grouping, const ValuedEvents& events) {
  // Of no events, as where an epoch is older than all that are asked for: transform() takes no empty lists.
  if (grouping.is_one() || events.ids.empty()) {
    return {};
  }
  std::vector<uint32_t> groups;
  for (const uint32_t event : events.ids) {
    groups.push_back(grouping.of(event));
  }
  const bool is_one = std::ranges::count(groups, groups.front()) == std::ssize(groups);
  if (is_one && events.are_all_selected) {
    return {.sql = fmt::format("{}", groups.front())};
  }
  if (grouping.is_each()) {
    return {.sql = "event", .varies = true};
  }
  return {.sql = fmt::format("transform(event, [{}], [{}], 0)", fmt::join(events.ids, ", "),
                             fmt::join(groups, ", ")),
          .varies = true};
}

// All origins are as that of the run.
void take_constants(const AggregateRequest& request, const Run& run, OriginValues& values) {
  values.origin_group.sql = fmt::format("{}", request.group[Column::kOrigin].of(run.first));
  values.machine_group.sql = fmt::format("{}", group_number(request.machine_group.values(), run.first));
  values.has_factor = fmt::format("toUInt8(origin < {})", origins_with_factors(request, run.event));
  for (const Factors& factors : request.measures) {
    values.factors.push_back(exact(factors[run.event][run.first]));
  }
}

void take_table(ValueTable table, size_t measures, OriginValues& values) {
  values.join = table.join();
  if (table.has_origin_groups()) {
    values.origin_group = {.sql = "group_of_origin", .varies = true};
  }
  if (table.has_machine_groups()) {
    values.machine_group = {.sql = "group_of_machine", .varies = true};
  }
  values.has_factor = "has_factor";
  for (size_t measure = 0; measure < measures; ++measure) {
    values.factors.push_back(fmt::format("factor_{}", measure));
  }
  values.tables.push_back(table.table());
}

}  // namespace

OriginValues origin_values(const AggregateRequest& request) {
  const ValuedEvents events = valued_events(request);
  const bool with_events =
      events.ids.size() > kMaxListedEvents || std::ranges::any_of(events.ids, [&](uint32_t event) {
        return !have_same_factors(request, events.ids.front(), event);
      });
  std::vector<Run> runs;
  for (const uint32_t event : events.ids) {
    if (with_events || event == events.ids.front()) {
      add_runs(request, event, runs);
    }
  }
  OriginValues values;
  values.columns = {"origin"};
  const bool are_all_alike = !with_events && !runs.empty() && std::ranges::all_of(runs, [&](const Run& run) {
    return are_alike(request, run.event, runs.front().first, run.first);
  });
  if (are_all_alike) {
    take_constants(request, runs.front(), values);
  } else {
    take_table(ValueTable(request, runs, with_events), request.measures.size(), values);
  }
  const IdGrouping& of_events = request.group[Column::kEvent];
  if (!with_events) {
    values.event_group = group_of_event(of_events, events);
  } else if (!of_events.is_one()) {
    values.event_group = {.sql = "group_of_event", .varies = true};
  }
  // A join by event finds out by itself.
  const bool is_event_checked = !with_events && !events.are_all_selected && !events.ids.empty();
  if (is_event_checked) {
    values.has_factor =
        fmt::format("toUInt8({} AND event IN ({}))", values.has_factor, fmt::join(events.ids, ", "));
  }
  if (with_events || values.event_group.varies || is_event_checked) {
    values.columns.emplace_back("event");
  }
  return values;
}

}  // namespace plimsoll::store::clickhouse
