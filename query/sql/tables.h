// The tables of `plimsoll sql`, over one snapshot.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "query/sql/catalogue_tables.h"
#include "query/sql/samples_table.h"

namespace plimsoll::query {

struct NamedTable {
  std::string_view name;
  std::string_view row_is;  // for --help
  sqlite::VirtualTable* table;
};

// samples, totals, events, machines, and columns: what there is, for those who ask. Borrows everything. One thread.
class SqlTables {
 public:
  // `factors`: the measures of resolve_all().
  SqlTables(const Snapshot& snapshot, const std::vector<store::Factors>& factors, int64_t now_ns,
            const FleetSource& fleet);
  SqlTables(const SqlTables&) = delete;
  SqlTables& operator=(const SqlTables&) = delete;

  const std::vector<NamedTable>& list() const { return list_; }
  std::map<std::string, sqlite::VirtualTable*> by_name() const;

 private:
  // A row of `columns`.
  struct ColumnRow {
    std::string_view table;
    const sqlite::Column* column;
  };
  sqlite::ListTable columns_table() const;

  SamplesTable samples_;
  sqlite::ListTable totals_;
  sqlite::ListTable events_;
  sqlite::ListTable machines_;
  sqlite::ListTable columns_;
  std::vector<NamedTable> list_;
  std::vector<ColumnRow> column_rows_;
};

}  // namespace plimsoll::query
