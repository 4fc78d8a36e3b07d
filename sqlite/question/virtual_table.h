// Read-only tables of SQL whose rows are made as they are read (https://sqlite.org/vtab.html).
//
// A table says which columns it has, and gets the comparisons of a statement that a column's value alone decides, so that it can
// leave out rows early. It may let through too many: SQLite compares again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/stop_check.h"
#include "sqlite/question/constraint.h"
#include "sqlite/question/value.h"

struct sqlite3;
struct sqlite3_context;

namespace plimsoll::sqlite {

// Where a column's value goes.
class ColumnResult {
 public:
  explicit ColumnResult(sqlite3_context* context) : context_(context) {}
  void set(int64_t value);
  void set(double value);
  void set_lasting(std::string_view text);  // which stays where it is as long as the table
  void set_copy(std::string_view text);
  void set_value(const Value& value);  // a copy

 private:
  sqlite3_context* context_;
};

class VirtualCursor {
 public:
  virtual ~VirtualCursor() = default;

  // To the first row, then to the next; false: there is none.
  virtual Result<bool> next() = 0;
  // Of the current row: the same in every scan of the table, and no other row's. SQLite tells by it which rows it has seen, where it
  // scans a table once for each side of an OR.
  virtual int64_t row_id() const = 0;
  // Of the current row. Asked for those columns alone that the statement needs.
  virtual void value(size_t column, ColumnResult& result) = 0;
};

// One thread. Must outlive its cursors.
class VirtualTable {
 public:
  virtual ~VirtualTable() = default;

  virtual const std::vector<Column>& columns() const = 0;
  virtual double estimated_rows() const = 0;
  // Of rows that pass all constraints, at least. Asks `check`, which outlives the cursor, before and between rows: fails with what it
  // fails with.
  virtual Result<std::unique_ptr<VirtualCursor>> scan(const std::vector<Constraint>& constraints,
                                                      const StopCheck& check) = 0;
};

// Makes `table` known to a connection by its name; before an authorizer is set, which it would ask. All must outlive the connection;
// the first error of a scan is kept in `failure`, with its code.
Status add_virtual_table(sqlite3* connection, const std::string& name, VirtualTable& table,
                         const StopCheck& check, Status& failure);

}  // namespace plimsoll::sqlite
