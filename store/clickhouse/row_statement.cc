#include "store/clickhouse/row_statement.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "base/hex.h"
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

// Where a measure lacks the factor of an origin, so does the row: which is an error if there is such a row.
size_t origins_with_factors(const AggregateRequest& request, uint32_t event) {
  size_t origins = SIZE_MAX;
  for (const Factors& factors : request.measures) {
    origins = std::min(origins, event < factors.size() ? factors[event].size() : 0);
  }
  return origins;
}

// Whether two origins differ in nothing that the server is told of them.
bool are_alike(const AggregateRequest& request, uint32_t event, uint32_t a, uint32_t b) {
  const std::span<const uint32_t> machine_group = request.machine_group.values();
  return request.group[Column::kOrigin].of(a) == request.group[Column::kOrigin].of(b) &&
         group_number(machine_group, a) == group_number(machine_group, b) &&
         std::ranges::all_of(request.measures,
                             [&](const Factors& factors) { return factors[event][a] == factors[event][b]; });
}

// One row for neighbours that are alike: all, where hits count as they are.
void add_runs(const AggregateRequest& request, uint32_t event, RowBinaryWriter& rows) {
  const uint64_t origins = origins_with_factors(request, event);
  for (const IdRange& range : request.filter[Column::kOrigin].ranges()) {
    const auto end = static_cast<uint32_t>(std::min(uint64_t{range.last} + 1, origins));
    for (uint32_t first = range.first; first < end;) {
      uint32_t next = first + 1;
      while (next < end && are_alike(request, event, first, next)) {
        ++next;
      }
      rows.number(event)
          .number(first)
          .number(next - first)
          .number(request.group[Column::kEvent].of(event))
          .number(request.group[Column::kOrigin].of(first))
          .number(group_number(request.machine_group.values(), first));
      for (const Factors& factors : request.measures) {
        rows.number(factors[event][first]);
      }
      first = next;
    }
  }
}

// The factors of the rows that are selected, with what else goes by origin.
ExternalTable factor_table(const AggregateRequest& request) {
  ExternalTable table{"factors",
                      "event UInt32, first_origin UInt32, run_length UInt32, event_group UInt32, "
                      "origin_group UInt32, machine_group UInt32",
                      {}};
  for (size_t measure = 0; measure < request.measures.size(); ++measure) {
    table.structure += fmt::format(", factor_{} Float64", measure);
  }
  RowBinaryWriter rows;
  for (uint32_t event = 0; event < request.measures[0].size(); ++event) {
    if (request.filter[Column::kEvent].selects(event)) {
      add_runs(request, event, rows);
    }
  }
  table.rows = rows.take();
  return table;
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

// Of the columns and what the table of factors has, between commas.
std::string joined_names(std::string_view first, const std::vector<Column>& columns) {
  std::string names(first);
  for (const Column column : columns) {
    names += fmt::format(", {}", name_of(column));
  }
  return names;
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
  Statement& statement = asked.statement;
  statement.tables.push_back(factor_table(request));
  std::string sums;
  std::string factors;
  for (size_t measure = 0; measure < request.measures.size(); ++measure) {
    sums += fmt::format(", sum(hits * factor_{})", measure);
    factors += fmt::format(", factor_{}", measure);
  }
  const std::string keys = joined_names("event_group, origin_group, machine_group", asked.columns);
  statement.sql = fmt::format("SELECT {}, min(has_factor){} FROM (SELECT {}, hits FROM rows WHERE {}", keys,
                              sums, joined_names("event, origin", asked.columns), epoch.condition());
  RowFilter filter = request.filter;
  filter[Column::kStack] =
      intersection_of(filter[Column::kStack], stacks_of_wanted(request, epoch.newest.entries.stacks));
  add_conditions(filter, epoch, statement, entries);
  statement.sql += fmt::format(
      ") AS selected ANY LEFT JOIN (SELECT event, toUInt32(first_origin + arrayJoin(range(run_length))) AS "
      "origin, "
      "event_group, origin_group, machine_group, toUInt8(1) AS has_factor{} FROM factors) AS weighed USING "
      "(event, origin) GROUP BY {} FORMAT RowBinary",
      factors, keys);
  return asked;
}

}  // namespace plimsoll::store::clickhouse
