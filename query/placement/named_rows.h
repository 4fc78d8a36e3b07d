// Rows of a CSV text whose errors name the text and the line.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "formats/csv.h"
#include "query/placement/placement_input.h"

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

// Numbers for names, in the order in which they came.
class Names {
 public:
  // False: it has one already.
  bool add(const std::string& name);
  std::optional<uint32_t> find(const std::string& name) const;
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

}  // namespace plimsoll::query
