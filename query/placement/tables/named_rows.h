// Rows of a CSV text whose errors name the text and the line.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/csv.h"
#include "query/placement/tables/placement_tables.h"

namespace plimsoll::query {

class NamedRows {
 public:
  // kInvalid where one of the columns is missing.
  static Result<NamedRows> read(const NamedText& text, std::initializer_list<std::string_view> columns);

  const std::vector<formats::CsvTable::Row>& rows() const { return table_.rows; }
  bool has(std::string_view column) const { return table_.column(column).has_value(); }
  const std::string& text(const formats::CsvTable::Row& row, std::string_view column) const;
  // Finite and at least 0.
  Result<double> number(const formats::CsvTable::Row& row, std::string_view column) const;
  // Above 0, too.
  Result<double> positive(const formats::CsvTable::Row& row, std::string_view column) const;

 private:
  std::string name_;
  formats::CsvTable table_;
};

}  // namespace plimsoll::query
