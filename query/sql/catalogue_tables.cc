#include "query/sql/catalogue_tables.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>

#include "query/selection/selection.h"
#include "query/snapshot/dimension.h"
#include "query/sql/time_text.h"

namespace plimsoll::query {
namespace {

using sqlite::ColumnType;
using sqlite::ListColumn;
using store::OriginEventEntry;

// Of columns of several tables.
constexpr std::string_view kEventMeaning = "name in the views";
constexpr std::string_view kUnitMeaning = "unit of value: ns, bytes or count";
constexpr std::string_view kValueMeaning = "in the event's unit, with the weights of the views";
constexpr std::string_view kSamplesMeaning = "behind the hits";
constexpr std::string_view kLostMeaning = "samples that did not arrive";

double value_of(const OriginEventEntry& entry, const std::vector<store::Factors>& factors) {
  return static_cast<double>(entry.hits) * factors[kValue][entry.event][entry.origin];
}

int64_t whole(uint64_t count) {
  return static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX));
}

std::string_view kind_name(wire::Kind kind) {
  switch (kind) {
    case wire::SNAPSHOT:
      return "snapshot";
    case wire::CUMULATIVE:
      return "cumulative";
    default:
      return "delta";
  }
}

// An event, and all profiles that have it.
struct EventRow {
  uint32_t event = 0;
  int64_t profiles = 0;
  std::set<std::string_view> machines = {};
  int64_t from_ns = INT64_MAX;
  int64_t to_ns = INT64_MIN;
  uint64_t hits = 0;
  double value = 0;
  uint64_t samples = 0;
  uint64_t lost = 0;
};

void add(const OriginEventEntry& entry, const Snapshot& snapshot, double value, EventRow& row) {
  const store::OriginEntry& origin = snapshot.dictionaries.origins[entry.origin];
  ++row.profiles;
  row.machines.insert(snapshot.dictionaries.machines[origin.machine].machine_id);
  row.from_ns = std::min(row.from_ns, origin.from_ns);
  row.to_ns = std::max(row.to_ns, origin.to_ns);
  row.hits += entry.hits;
  row.value += value;
  row.samples += entry.samples;
  row.lost += entry.lost;
}

std::vector<EventRow> event_rows(const Snapshot& snapshot, const std::vector<store::Factors>& factors) {
  std::vector<EventRow> rows;
  for (uint32_t event = 0; event < snapshot.dictionaries.events.size(); ++event) {
    rows.push_back({.event = event});
  }
  for (const OriginEventEntry& entry : snapshot.dictionaries.origin_events) {
    add(entry, snapshot, value_of(entry, factors), rows[entry.event]);
  }
  std::erase_if(rows, [](const EventRow& row) { return row.profiles == 0; });
  return rows;
}

struct MachineColumn {
  std::string_view name;
  ColumnType type;
  std::string_view meaning;
};

// In the order of the view's.
constexpr std::array<MachineColumn, 20> kMachineColumns{{
    {"machine", ColumnType::kText, "machine ID"},
    {"hostname", ColumnType::kText, "the machine's host name"},
    {"state", ColumnType::kText,
     "live, gone, unheard (in the inventory only), or profiles (never registered)"},
    {"platform", ColumnType::kText, "platform, from the inventory or the machine"},
    {"cores", ColumnType::kInteger, "CPUs"},
    {"architecture", ColumnType::kText, "x86_64, aarch64, ..."},
    {"kernel", ColumnType::kText, "newest kernel release"},
    {"datacenter", ColumnType::kText, "from the inventory, else as configured on the machine"},
    {"cluster", ColumnType::kText, "from the inventory, else as configured on the machine"},
    {"rack", ColumnType::kText, "by the inventory"},
    {"owner", ColumnType::kText, "by the inventory"},
    {"version", ColumnType::kText, "version of its plimsolld"},
    {"first_seen", ColumnType::kText, "UTC"},
    {"last_seen", ColumnType::kText, "UTC"},
    {"instances", ColumnType::kInteger, "time of the newest census; NULL: none"},
    {"cpu_quota", ColumnType::kReal, "CPU quota of all instances, in CPUs; NULL: no quota"},
    {"cpu_used", ColumnType::kReal, "CPUs used by all instances"},
    {"missing_events", ColumnType::kText, "events that plimsolld knows by name and the machine cannot count"},
    {"refused", ColumnType::kInteger, "profiles refused as implausible; NULL: none"},
    {"refused_why", ColumnType::kText, "reason of the newest one"},
}};

}  // namespace

sqlite::ListTable totals_table(const Snapshot& snapshot, const std::vector<store::Factors>& factors) {
  std::vector<ListColumn> columns;
  // `value` is a function of the row's entry, or of its profile.
  const auto add_column = [&](std::string_view name, ColumnType type, std::string_view meaning, auto value) {
    columns.push_back(
        {std::string(name), type, std::string(meaning), [&snapshot, value](size_t row) -> Value {
           const store::Dictionaries& dictionaries = snapshot.dictionaries;
           const OriginEventEntry& entry = dictionaries.origin_events[row];
           if constexpr (std::is_invocable_v<decltype(value), const OriginEventEntry&>) {
             return value(entry);
           } else {
             return value(dictionaries.origins[entry.origin]);
           }
         }});
  };
  using Entry = const OriginEventEntry&;
  using Origin = const store::OriginEntry&;
  const auto& events = snapshot.dictionaries.events;
  add_column("event", ColumnType::kText, kEventMeaning,
             [&events](Entry entry) { return events[entry.event].name; });
  add_column("unit", ColumnType::kText, kUnitMeaning,
             [&events](Entry entry) { return std::string(unit_name(events[entry.event].unit)); });
  for (const Dimension& dimension : dimensions()) {
    if (dimension.source == DimensionSource::kOrigin) {
      add_column(dimension.name, ColumnType::kText, dimension.meaning, [&snapshot, &dimension](Entry entry) {
        return entry_value(snapshot, dimension, entry.origin);
      });
    }
  }
  add_column("from_time", ColumnType::kText, "start of the profile's window, UTC",
             [](Origin origin) { return time_text(origin.from_ns); });
  add_column("to_time", ColumnType::kText, "its end", [](Origin origin) { return time_text(origin.to_ns); });
  add_column("from_ns", ColumnType::kInteger, "start of the profile's window, since 1970",
             [](Origin origin) { return origin.from_ns; });
  add_column("to_ns", ColumnType::kInteger, "its end", [](Origin origin) { return origin.to_ns; });
  add_column("hits", ColumnType::kInteger, "sum over all rows of the profile",
             [](Entry entry) { return whole(entry.hits); });
  add_column("value", ColumnType::kReal, kValueMeaning,
             [&factors](Entry entry) { return value_of(entry, factors); });
  add_column("samples", ColumnType::kInteger, kSamplesMeaning,
             [](Entry entry) { return whole(entry.samples); });
  add_column("lost", ColumnType::kInteger, kLostMeaning, [](Entry entry) { return whole(entry.lost); });
  add_column("scale", ColumnType::kReal, "value of a hit, in the event's unit, before weights",
             [](Entry entry) { return entry.scale; });
  add_column("ran", ColumnType::kInteger, "0: its counters never ran",
             [](Entry entry) { return int64_t{entry.ran ? 1 : 0}; });
  add_column("note", ColumnType::kText, "remark of the daemon on the event",
             [](Entry entry) { return entry.note; });
  return {std::move(columns), [&snapshot] { return snapshot.dictionaries.origin_events.size(); }};
}

sqlite::ListTable events_table(const Snapshot& snapshot, const std::vector<store::Factors>& factors) {
  const auto rows = std::make_shared<std::optional<std::vector<EventRow>>>();
  std::vector<ListColumn> columns;
  const auto add_column = [&](std::string_view name, ColumnType type, std::string_view meaning, auto value) {
    columns.push_back({std::string(name), type, std::string(meaning),
                       [rows, value](size_t row) -> Value { return value((**rows)[row]); }});
  };
  using Row = const EventRow&;
  const auto& events = snapshot.dictionaries.events;
  add_column("event", ColumnType::kText, kEventMeaning,
             [&events](Row row) { return events[row.event].name; });
  add_column("unit", ColumnType::kText, kUnitMeaning,
             [&events](Row row) { return std::string(unit_name(events[row.event].unit)); });
  add_column("kind", ColumnType::kText, "delta, snapshot or cumulative",
             [&events](Row row) { return std::string(kind_name(events[row.event].kind)); });
  add_column("profiles", ColumnType::kInteger, "that have it", [](Row row) { return row.profiles; });
  add_column("machines", ColumnType::kInteger, "that have it",
             [](Row row) { return static_cast<int64_t>(row.machines.size()); });
  add_column("from_time", ColumnType::kText, "start of the first profile's window, UTC",
             [](Row row) { return time_text(row.from_ns); });
  add_column("to_time", ColumnType::kText, "end of the last profile's window, UTC",
             [](Row row) { return time_text(row.to_ns); });
  add_column("hits", ColumnType::kInteger, "as stored", [](Row row) { return whole(row.hits); });
  add_column("value", ColumnType::kReal, kValueMeaning, [](Row row) { return row.value; });
  add_column("samples", ColumnType::kInteger, kSamplesMeaning, [](Row row) { return whole(row.samples); });
  add_column("lost", ColumnType::kInteger, kLostMeaning, [](Row row) { return whole(row.lost); });
  return {std::move(columns), [rows, &snapshot, &factors] {
            if (!*rows) {
              *rows = event_rows(snapshot, factors);
            }
            return (*rows)->size();
          }};
}

sqlite::ListTable machines_table(const Snapshot& snapshot, int64_t now_ns, const FleetSource& fleet) {
  const auto table = std::make_shared<std::optional<Table>>();
  std::vector<ListColumn> columns;
  for (size_t i = 0; i < kMachineColumns.size(); ++i) {
    const MachineColumn& column = kMachineColumns[i];
    columns.push_back({std::string(column.name), column.type, std::string(column.meaning),
                       [table, i](size_t row) { return (*table)->rows[row][i]; }});
  }
  return {std::move(columns), [table, &snapshot, now_ns, fleet]() -> Result<size_t> {
            if (!*table) {
              const auto newest = fleet();
              if (!newest) {
                return propagate(newest);
              }
              *table = machines({.now_ns = now_ns}, snapshot, *newest);
            }
            return (*table)->rows.size();
          }};
}

}  // namespace plimsoll::query
