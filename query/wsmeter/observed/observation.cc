#include "query/wsmeter/observed/observation.h"

#include <utility>

#include "query/table/values.h"

namespace plimsoll::query {
namespace {

Value number_or_absent(const std::optional<double>& number) {
  return number ? Value(*number) : Value();
}

struct ObservationColumns {
  size_t job, machine, rack, platform, instance, performance, load;
  // Those of an older server may lack these.
  std::optional<size_t> margin, margin_kind, quota_cpus;
};

std::optional<size_t> column_if_there(const Table& table, std::string_view name) {
  const auto found = find_column(table, name);
  return found ? std::optional(*found) : std::nullopt;
}

Result<ObservationColumns> observation_columns(const Table& table) {
  ObservationColumns columns{};
  for (const auto& [name, place] :
       {std::pair("job", &columns.job), std::pair("machine", &columns.machine),
        std::pair("rack", &columns.rack), std::pair("platform", &columns.platform),
        std::pair("instance", &columns.instance), std::pair("performance", &columns.performance),
        std::pair("denominator", &columns.load)}) {
    const auto found = find_column(table, name);
    if (!found) {
      return propagate(found);
    }
    *place = *found;
  }
  columns.margin = column_if_there(table, "performance_margin");
  columns.margin_kind = column_if_there(table, "margin_kind");
  columns.quota_cpus = column_if_there(table, "quota_cpus");
  return columns;
}

Result<Observation> observation_in(const ObservationColumns& columns, const std::vector<Value>& row) {
  const auto performance = number_in(row[columns.performance]);
  const auto load = number_in(row[columns.load]);
  if (!performance || !load) {
    return fail(ErrorCode::kCorrupt, "an observation has no number for performance or load");
  }
  return Observation{.job = text_in(row[columns.job]),
                     .machine = text_in(row[columns.machine]),
                     .rack = text_in(row[columns.rack]),
                     .platform = text_in(row[columns.platform]),
                     .instance = text_in(row[columns.instance]),
                     .performance = *performance,
                     .margin = columns.margin ? number_in(row[*columns.margin]) : std::nullopt,
                     .margin_kind = columns.margin_kind ? text_in(row[*columns.margin_kind]) : std::string(),
                     .load = *load,
                     .quota_cpus = columns.quota_cpus ? number_in(row[*columns.quota_cpus]) : std::nullopt};
}

}  // namespace

Table table_of(const Observations& observations) {
  Table table{.event = observations.event,
              .notes = observations.notes,
              .columns = {{"job", ""},
                          {"machine", ""},
                          {"rack", ""},
                          {"platform", ""},
                          {"instance", ""},
                          {"performance", observations.performance_unit},
                          {"performance_margin", observations.performance_unit},
                          {"margin_kind", ""},
                          {"denominator", observations.load_unit},
                          {"quota_cpus", "CPUs"}},
              .rows = {},
              .coverage = observations.coverage};
  for (const Observation& seen : observations.seen) {
    table.rows.push_back({seen.job, seen.machine, seen.rack, seen.platform, seen.instance, seen.performance,
                          number_or_absent(seen.margin), seen.margin_kind, seen.load,
                          number_or_absent(seen.quota_cpus)});
  }
  return table;
}

Result<Observations> observations_in(const Table& table) {
  const auto columns = observation_columns(table);
  if (!columns) {
    return propagate(columns);
  }
  Observations observations{.event = table.event,
                            .performance_unit = table.columns[columns->performance].unit,
                            .load_unit = table.columns[columns->load].unit,
                            .seen = {},
                            .notes = table.notes,
                            .coverage = table.coverage};
  for (const std::vector<Value>& row : table.rows) {
    auto seen = observation_in(*columns, row);
    if (!seen) {
      return propagate(seen);
    }
    observations.seen.push_back(*std::move(seen));
  }
  return observations;
}

}  // namespace plimsoll::query
