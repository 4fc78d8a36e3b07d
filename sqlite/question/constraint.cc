#include "sqlite/question/constraint.h"

#include <sqlite3.h>

#include <algorithm>

namespace plimsoll::sqlite {
namespace {

template <typename T>
bool compares(Comparison comparison, const T& value, const T& operand) {
  switch (comparison) {
    case Comparison::kNotEqual:
      return value != operand;
    case Comparison::kLess:
      return value < operand;
    case Comparison::kLessEqual:
      return value <= operand;
    case Comparison::kGreater:
      return value > operand;
    case Comparison::kGreaterEqual:
      return value >= operand;
    case Comparison::kEqual:
    case Comparison::kLike:
    case Comparison::kGlob:
      return false;
  }
  return false;
}

bool matches(Comparison comparison, const std::string& value, const std::string& pattern) {
  return comparison == Comparison::kLike ? ::sqlite3_strlike(pattern.c_str(), value.c_str(), 0) == 0
                                         : ::sqlite3_strglob(pattern.c_str(), value.c_str()) == 0;
}

// A list may have many operands, and is asked for each entry of a dictionary.
template <typename T>
bool is_among(const T& value, const std::vector<std::variant<int64_t, std::string>>& operands) {
  return std::ranges::binary_search(operands, value, {},
                                    [](const auto& operand) -> const T& { return std::get<T>(operand); });
}

}  // namespace

bool is_pattern(Comparison comparison) {
  return comparison == Comparison::kLike || comparison == Comparison::kGlob;
}

bool Constraint::passes(int64_t value) const {
  if (comparison == Comparison::kEqual) {
    return is_among(value, operands);
  }
  return !operands.empty() && compares(comparison, value, std::get<int64_t>(operands.front()));
}

bool Constraint::passes(const std::string& value) const {
  if (comparison == Comparison::kEqual) {
    return is_among(value, operands);
  }
  if (operands.empty()) {
    return false;
  }
  const auto& operand = std::get<std::string>(operands.front());
  return is_pattern(comparison) ? matches(comparison, value, operand) : compares(comparison, value, operand);
}

bool Constraint::passes(const Value& value) const {
  const auto* text = std::get_if<std::string>(&value);
  const auto* whole = std::get_if<int64_t>(&value);
  return text != nullptr ? passes(*text) : whole != nullptr && passes(*whole);
}

}  // namespace plimsoll::sqlite
