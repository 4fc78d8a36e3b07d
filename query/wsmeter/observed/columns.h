// The columns of a CSV table by their names, whichever of several they go by, and the numbers in them.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/csv.h"

namespace plimsoll::query {

// CSV or gzipped CSV, told apart by content. At most a GiB when inflated.
Result<formats::CsvTable> read_table(std::string_view content);

// One column; absent where the table has none of its names.
class Column {
 public:
  // The first of `names` that the table has.
  Column(const formats::CsvTable& table, std::initializer_list<std::string_view> names);

  bool is_there() const { return place_.has_value(); }
  // kInvalid with `hint` where it is not.
  Status require(std::string hint) const;

  // The text of a row, empty where the column is absent.
  const std::string& text(const formats::CsvTable::Row& row) const;
  // kInvalid, naming the line, for what is no finite number. The column is there.
  Result<double> number(const formats::CsvTable::Row& row) const;

 private:
  std::string name_;
  std::optional<size_t> place_;
};

}  // namespace plimsoll::query
