#include "query/sql/tables.h"

namespace plimsoll::query {
namespace {

using sqlite::ColumnType;

std::string_view type_name(ColumnType type) {
  switch (type) {
    case ColumnType::kText:
      return "TEXT";
    case ColumnType::kInteger:
      return "INTEGER";
    case ColumnType::kReal:
      return "REAL";
  }
  return {};
}

}  // namespace

SqlTables::SqlTables(const Snapshot& snapshot, const std::vector<store::Factors>& factors, int64_t now_ns,
                     const FleetSource& fleet)
    : samples_(snapshot, factors),
      totals_(totals_table(snapshot, factors)),
      events_(events_table(snapshot, factors)),
      machines_(machines_table(snapshot, now_ns, fleet)),
      columns_(columns_table()),
      list_{{"samples", "a stack of a thread in a profile", &samples_},
            {"totals", "an event of a profile, as a whole", &totals_},
            {"events", "an event of all profiles", &events_},
            {"machines", "a machine, as plimsoll machines shows it", &machines_},
            {"columns", "a column of one of these tables, with its meaning", &columns_}} {
  for (const NamedTable& table : list_) {
    for (const sqlite::Column& column : table.table->columns()) {
      column_rows_.push_back({table.name, &column});
    }
  }
}

sqlite::ListTable SqlTables::columns_table() const {
  return {{{"table_name", ColumnType::kText, "name of the table",
            [this](size_t row) { return std::string(column_rows_[row].table); }},
           {"column_name", ColumnType::kText, "name of the column",
            [this](size_t row) { return column_rows_[row].column->name; }},
           {"data_type", ColumnType::kText, "TEXT, INTEGER or REAL",
            [this](size_t row) { return std::string(type_name(column_rows_[row].column->type)); }},
           {"meaning", ColumnType::kText, "in a few words",
            [this](size_t row) { return column_rows_[row].column->meaning; }}},
          [this] { return column_rows_.size(); }};
}

std::map<std::string, sqlite::VirtualTable*> SqlTables::by_name() const {
  std::map<std::string, sqlite::VirtualTable*> tables;
  for (const NamedTable& table : list_) {
    tables.emplace(table.name, table.table);
  }
  return tables;
}

}  // namespace plimsoll::query
