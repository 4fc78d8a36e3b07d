#include "store/clickhouse/row_statement.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "base/hex.h"
#include "store/clickhouse/origin_values.h"
#include "store/clickhouse/row_binary.h"

namespace plimsoll::store::clickhouse {
namespace {

// As SQL each costs the server a comparison for each row; more are a table, and a look-up by hash.
constexpr size_t kMaxRanges = 12;
// Numbers that a range takes in a table, where an ID takes one.
constexpr uint64_t kNumbersOfRange = 2;
// Of what a filter's column may take as conditions on entries: statements with tables stand in the URL, which has a limit.
constexpr size_t kMaxConditionBytes = 2000;
// About what a condition takes, with its table's parameters, beside the conditions of the epoch that it repeats.
constexpr size_t kConditionBytes = 250;

std::string any_of_ranges(std::string_view column, std::span<const IdRange> ranges) {
  std::string condition;
  for (const IdRange& range : ranges) {
    condition += fmt::format("{}{} BETWEEN {} AND {}", condition.empty() ? "" : " OR ", column, range.first,
                             range.last);
  }
  return condition.empty() ? "0" : condition;
}

std::string table_of_ids(std::span<const IdRange> ranges) {
  RowBinaryWriter ids;
  for (const IdRange& range : ranges) {
    for (uint64_t id = range.first; id <= range.last; ++id) {
      ids.number(static_cast<uint32_t>(id));
    }
  }
  return ids.take();
}

std::string table_of_ranges(std::span<const IdRange> ranges) {
  RowBinaryWriter rows;
  for (const IdRange& range : ranges) {
    rows.number(range.first).number(range.last - range.first + 1);
  }
  return rows.take();
}

// Adds a table and the condition that an ID is in it: the table of the fewer numbers, since the server can make IDs of ranges.
void add_table(std::string_view column, std::span<const IdRange> ranges, Statement& statement) {
  uint64_t ids = 0;
  for (const IdRange& range : ranges) {
    ids += uint64_t{range.last} - range.first + 1;
  }
  const std::string table = fmt::format("selected_{}", column);
  if (ids <= kNumbersOfRange * ranges.size()) {
    statement.sql += fmt::format(" AND {} IN {}", column, table);
    statement.tables.push_back({table, "id UInt32", table_of_ids(ranges)});
    return;
  }
  statement.sql += fmt::format(
      " AND {} IN (SELECT toUInt32(first_id + arrayJoin(range(run_length))) FROM {})", column, table);
  statement.tables.push_back({table, "first_id UInt32, run_length UInt32", table_of_ranges(ranges)});
}

// Where the values of a dimension stand.
struct DimensionPlace {
  Column column;
  std::string_view dimension;
  std::string_view table;  // of dictionary entries
  std::string_view name;   // of the table's column
};

constexpr std::array kDimensionPlaces{
    DimensionPlace{Column::kOrigin, "machine", "machines", "machine_id"},
    DimensionPlace{Column::kOrigin, "hostname", "machines", "hostname"},
    DimensionPlace{Column::kOrigin, "datacenter", "machines", "datacenter"},
    DimensionPlace{Column::kOrigin, "cluster", "machines", "cluster"},
    DimensionPlace{Column::kOrigin, "platform", "machines", "platform"},
    DimensionPlace{Column::kOrigin, "cpu_model", "machines", "cpu_model"},
    DimensionPlace{Column::kOrigin, "architecture", "machines", "architecture"},
    DimensionPlace{Column::kOrigin, "kernel", "machines", "kernel"},
    DimensionPlace{Column::kOrigin, "kernel_build_id", "machines", "kernel_build_id"},
    DimensionPlace{Column::kOrigin, "os", "machines", "os"},
    DimensionPlace{Column::kOrigin, "daemon_version", "machines", "daemon_version"},
    DimensionPlace{Column::kOrigin, "draw", "origins", "draw"},
    DimensionPlace{Column::kWorkload, "job", "workloads", "job"},
    DimensionPlace{Column::kWorkload, "instance", "workloads", "instance"},
    DimensionPlace{Column::kWorkload, "app", "workloads", "app"},
    DimensionPlace{Column::kWorkload, "image", "workloads", "image"},
    DimensionPlace{Column::kWorkload, "build_id", "workloads", "build_id"},
    DimensionPlace{Column::kWorkload, "revision", "workloads", "revision"},
    DimensionPlace{Column::kWorkload, "compiler", "workloads", "compiler"},
    DimensionPlace{Column::kWorkload, "builder", "workloads", "builder"},
    DimensionPlace{Column::kThread, "thread", "threads", "name"},
};

// Absent: the tables do not have it.
const DimensionPlace* place_of(Column column, std::string_view dimension) {
  const auto* const found = std::ranges::find_if(kDimensionPlaces, [&](const DimensionPlace& place) {
    return place.column == column && place.dimension == dimension;
  });
  return found == kDimensionPlaces.end() ? nullptr : found;
}

// Values go with the statement as a table; beginnings of values, which are few, stand in it as digits, which need no quoting.
std::string value_meets(const EntryCondition& condition, std::string_view column, Statement& statement) {
  if (!condition.are_prefixes) {
    const std::string values = fmt::format("values_{}", statement.tables.size());
    RowBinaryWriter texts;
    for (const std::string& value : condition.values) {
      texts.text(value);
    }
    statement.tables.push_back({values, "value String", texts.take()});
    return fmt::format("{} {} {}", column, condition.is_negated ? "NOT IN" : "IN", values);
  }
  std::string any;
  for (const std::string& prefix : condition.values) {
    any += fmt::format("{}lower(hex(substring({}, 1, {}))) = '{}'", any.empty() ? "" : " OR ", column,
                       prefix.size(), to_hex(prefix));
  }
  return fmt::format("{}({})", condition.is_negated ? "NOT " : "", any.empty() ? "0" : any);
}

// Selects the IDs of the column whose entries meet the condition.
std::string entries_that_meet(const EntryCondition& condition, const DimensionPlace& place,
                              std::string_view of_epoch, Statement& statement) {
  const std::string entries = fmt::format("SELECT id FROM {} WHERE {} AND {}", place.table, of_epoch,
                                          value_meets(condition, place.name, statement));
  // Each origin has a machine.
  return place.table == "machines"
             ? fmt::format("SELECT id FROM origins WHERE {} AND machine IN ({})", of_epoch, entries)
             : entries;
}

std::string origins_of_time(const TimeSpan& middle, std::string_view of_epoch) {
  // As std::midpoint has it.
  constexpr std::string_view kMiddle = "from_ns + intDiv(to_ns - from_ns, 2)";
  std::string origins = fmt::format("SELECT id FROM origins WHERE {}", of_epoch);
  if (middle.from_ns != INT64_MIN) {
    origins += fmt::format(" AND {} >= {}", kMiddle, middle.from_ns);
  }
  if (middle.to_ns != INT64_MAX) {
    origins += fmt::format(" AND {} < {}", kMiddle, middle.to_ns);
  }
  return origins;
}

// Whether the server can find the IDs of the set by what made it, and may be told so in a statement.
bool can_be_found(const IdSet& set, Column column, std::string_view of_epoch) {
  const IdSelection* const made = set.selection();
  if (made == nullptr || made->among.ranges().size() > kMaxRanges) {
    return false;
  }
  // A condition on machines repeats the epoch's twice, the time once.
  const size_t bytes = made->conditions.size() * (2 * of_epoch.size() + kConditionBytes) + of_epoch.size();
  return bytes <= kMaxConditionBytes &&
         std::ranges::all_of(made->conditions, [&](const EntryCondition& condition) {
           return place_of(column, condition.dimension) != nullptr;
         });
}

void add_selection(const IdSelection& made, Column column, std::string_view of_epoch, Statement& statement) {
  const std::string_view name = name_of(column);
  if (!made.among.is_all()) {
    statement.sql += fmt::format(" AND ({})", any_of_ranges(name, made.among.ranges()));
  }
  if (made.middle != TimeSpan()) {
    statement.sql += fmt::format(" AND {} IN ({})", name, origins_of_time(made.middle, of_epoch));
  }
  for (const EntryCondition& condition : made.conditions) {
    const DimensionPlace& place = *place_of(column, condition.dimension);
    statement.sql +=
        fmt::format(" AND {} IN ({})", name, entries_that_meet(condition, place, of_epoch, statement));
  }
}

// Stacks in which cells that are wanted may be.
IdSet stacks_of_wanted(const AggregateRequest& request, size_t stacks) {
  std::set<uint32_t> wanted;
  for (const CellKey& key : request.wanted) {
    wanted.insert(key[Column::kStack]);
  }
  if (wanted.empty()) {
    return {};
  }
  const IdGrouping& grouping = request.group[Column::kStack];
  if (grouping.is_each()) {
    return IdSet::of({wanted.begin(), wanted.end()});
  }
  std::vector<bool> flags(stacks);
  for (uint32_t stack = 0; stack < stacks; ++stack) {
    const auto is_wanted = [&](uint32_t group) { return wanted.contains(group); };
    flags[stack] = grouping.lists() == nullptr ? is_wanted(grouping.of(stack))
                                               : std::ranges::any_of(grouping.lists()->of(stack), is_wanted);
  }
  return IdSet::of_flags(std::move(flags));
}

std::vector<Column> grouped_columns(const AggregateRequest& request) {
  std::vector<Column> columns;
  for (const Column column : {Column::kWorkload, Column::kThread, Column::kLabels, Column::kStack}) {
    if (!request.group[column].is_one()) {
      columns.push_back(column);
    }
  }
  return columns;
}

// Names between commas.
std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string_view name_of(Column column) {
  switch (column) {
    case Column::kEvent:
      return "event";
    case Column::kOrigin:
      return "origin";
    case Column::kWorkload:
      return "workload";
    case Column::kThread:
      return "thread";
    case Column::kLabels:
      return "labels";
    case Column::kStack:
      break;
  }
  return "stack";
}

void add_conditions(const RowFilter& filter, const EpochBatches& epoch, Statement& statement,
                    EntryTables entries) {
  const std::string of_epoch = epoch.condition();
  for (const Column column : kColumns) {
    const IdSet& set = filter[column];
    if (set.is_all()) {
      continue;
    }
    if (set.ranges().size() <= kMaxRanges) {
      statement.sql += fmt::format(" AND ({})", any_of_ranges(name_of(column), set.ranges()));
    } else if (entries == EntryTables::kBesideRows && can_be_found(set, column, of_epoch)) {
      add_selection(*set.selection(), column, of_epoch, statement);
    } else {
      add_table(name_of(column), set.ranges(), statement);
    }
  }
}

SumsStatement sums_statement(const AggregateRequest& request, const EpochBatches& epoch,
                             EntryTables entries) {
  SumsStatement asked{{}, grouped_columns(request)};
  OriginValues values = origin_values(request);
  std::vector<std::string> read = values.columns;
  std::vector<std::string> keys;
  std::vector<std::string> shown;
  for (const auto& [name, value] : {std::pair("event_group", &values.event_group),
                                    {"origin_group", &values.origin_group},
                                    {"machine_group", &values.machine_group}}) {
    shown.push_back(fmt::format("toUInt32({}) AS {}", value->sql, name));
    if (value->varies) {
      keys.push_back(value->sql);
    }
  }
  for (const Column column : asked.columns) {
    for (std::vector<std::string>* const names : {&read, &keys, &shown}) {
      names->emplace_back(name_of(column));
    }
  }
  if (keys.empty()) {
    // Without any key there would be a row of no rows.
    keys.push_back(values.has_factor);
  }
  shown.push_back(fmt::format("min({})", values.has_factor));
  for (const std::string& factor : values.factors) {
    shown.push_back(fmt::format("sum(hits * {})", factor));
  }
  Statement& statement = asked.statement;
  statement.tables = std::move(values.tables);
  statement.sql = fmt::format("SELECT {} FROM (SELECT {}, hits FROM rows WHERE {}", joined(shown),
                              joined(read), epoch.condition());
  RowFilter filter = request.filter;
  filter[Column::kStack] =
      intersection_of(filter[Column::kStack], stacks_of_wanted(request, epoch.newest.entries.stacks));
  add_conditions(filter, epoch, statement, entries);
  statement.sql += fmt::format(") AS selected{} GROUP BY {} FORMAT RowBinary", values.join, joined(keys));
  return asked;
}

}  // namespace plimsoll::store::clickhouse
