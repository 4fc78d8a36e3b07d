// A virtual table of rows that have numbers, each cell of which is made when it is read.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite/question/virtual_table.h"

namespace plimsoll::sqlite {

struct ListColumn {
  std::string name;
  ColumnType type = ColumnType::kText;
  std::string meaning;
  std::function<Value(size_t row)> value;  // of the column's type, or NULL
};

// For tables that are small beside samples: a scan looks at every row.
class ListTable : public VirtualTable {
 public:
  // How many rows there are; asked first by each scan, before any cell. What it fails with the statement fails with.
  using Size = std::function<Result<size_t>()>;

  ListTable(std::vector<ListColumn> columns, Size size);

  const std::vector<Column>& columns() const override { return columns_; }
  double estimated_rows() const override;
  Result<std::unique_ptr<VirtualCursor>> scan(const std::vector<Constraint>& constraints,
                                              const StopCheck& check) override;

 private:
  class Cursor;

  std::vector<Column> columns_;
  std::vector<std::function<Value(size_t row)>> values_;  // by column
  Size size_;
};

}  // namespace plimsoll::sqlite
