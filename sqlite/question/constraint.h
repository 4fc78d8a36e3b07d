// The columns of a virtual table, and comparisons of a statement that a column's value alone decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sqlite/question/value.h"

namespace plimsoll::sqlite {

enum class ColumnType { kText, kInteger, kReal };

struct Column {
  std::string name;
  ColumnType type = ColumnType::kText;
  bool narrows = false;  // comparisons with it are handed to scan(); of text and integers alone
  std::string meaning = {};
};

enum class Comparison { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kLike, kGlob };

bool is_pattern(Comparison comparison);

// "column COMPARISON operand"; with kEqual, "column IN (operands)" too. Operands are of the column's type, in ascending order;
// without any, nothing passes, as in comparisons with NULL.
struct Constraint {
  size_t column = 0;
  Comparison comparison = Comparison::kEqual;
  std::vector<std::variant<int64_t, std::string>> operands;

  bool passes(int64_t value) const;
  bool passes(const std::string& value) const;
  bool passes(const Value& value) const;  // of text and whole numbers; NULL passes nothing
};

}  // namespace plimsoll::sqlite
