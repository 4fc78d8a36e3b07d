#include "query/placement/tables/placement_tables.h"

#include <utility>

#include "query/placement/tables/named_rows.h"

namespace plimsoll::query {
namespace {

Result<std::optional<double>> margin_in(const NamedRows& rows, const formats::CsvTable::Row& row) {
  if (!rows.has("margin") || rows.text(row, "margin").empty()) {
    return std::optional<double>();
  }
  const auto margin = rows.number(row, "margin");
  return margin ? Result<std::optional<double>>(*margin) : propagate(margin);
}

}  // namespace

Result<CostTable> read_costs(const NamedText& text) {
  const auto rows = NamedRows::read(text, {"job", "platform"});
  if (!rows) {
    return propagate(rows);
  }
  if (rows->has("cpi") == rows->has("ns_per_instruction")) {
    return with_hint(
        fail(ErrorCode::kInvalid, "{}: a column cpi or ns_per_instruction is required", text.name),
        "use cpi if all platforms have the same clock rate, else ns_per_instruction");
  }
  CostTable table{.name = text.name, .unit = rows->has("cpi") ? CostUnit::kCycles : CostUnit::kNanoseconds};
  for (const formats::CsvTable::Row& row : rows->rows()) {
    const auto cost = rows->positive(row, table.unit == CostUnit::kCycles ? "cpi" : "ns_per_instruction");
    const auto margin = cost ? margin_in(*rows, row) : propagate(cost);
    if (!margin) {
      return propagate(margin);
    }
    table.rows.push_back({.job = rows->text(row, "job"),
                          .platform = rows->text(row, "platform"),
                          .cost = *cost,
                          .margin = *margin,
                          .line = row.line});
  }
  return table;
}

Result<LoadTable> read_loads(const NamedText& text) {
  const auto rows = NamedRows::read(text, {"job", "load"});
  if (!rows) {
    return propagate(rows);
  }
  LoadTable table{.name = text.name};
  for (const formats::CsvTable::Row& row : rows->rows()) {
    const auto load = rows->number(row, "load");
    if (!load) {
      return propagate(load);
    }
    table.rows.push_back({.job = rows->text(row, "job"), .load = *load, .line = row.line});
  }
  return table;
}

Result<CapacityTable> read_capacities(const NamedText& text, CostUnit unit) {
  const auto rows = NamedRows::read(text, {"platform"});
  if (!rows) {
    return propagate(rows);
  }
  const bool has_cpus = rows->has("cpus");
  if (has_cpus == rows->has("capacity") || (has_cpus && unit == CostUnit::kCycles)) {
    return with_hint(fail(ErrorCode::kInvalid, "{}: a column capacity is required", text.name),
                     "capacity has the unit of cost x load: cycles per second with cpi (CPUs x clock "
                     "rate), CPU-nanoseconds per second with ns_per_instruction, where a column cpus (1e9 "
                     "per CPU) may be given instead");
  }
  CapacityTable table{.name = text.name};
  for (const formats::CsvTable::Row& row : rows->rows()) {
    const auto capacity = rows->positive(row, has_cpus ? "cpus" : "capacity");
    if (!capacity) {
      return propagate(capacity);
    }
    table.rows.push_back({.platform = rows->text(row, "platform"),
                          .capacity = *capacity * (has_cpus ? kCpuNsPerSecond : 1),
                          .line = row.line});
  }
  return table;
}

Result<TodayTable> read_today(const NamedText& text) {
  const auto rows = NamedRows::read(text, {"job", "platform", "load"});
  if (!rows) {
    return propagate(rows);
  }
  TodayTable table{.name = text.name};
  for (const formats::CsvTable::Row& row : rows->rows()) {
    const auto load = rows->number(row, "load");
    if (!load) {
      return propagate(load);
    }
    table.rows.push_back({.job = rows->text(row, "job"),
                          .platform = rows->text(row, "platform"),
                          .load = *load,
                          .line = row.line});
  }
  return table;
}

}  // namespace plimsoll::query
