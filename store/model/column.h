// The columns of a row that are dictionary IDs, as one list: a further column is a further entry here, with its dictionary.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace plimsoll::store {

// In the order of a cell's number (cell_sums.h). All but the stack are a group of rows: who ran, when and where; most questions are
// answered by groups alone, and a group has many stacks.
enum class Column : uint8_t { kEvent, kOrigin, kWorkload, kThread, kLabels, kStack };

inline constexpr std::array kColumns{Column::kEvent,  Column::kOrigin, Column::kWorkload,
                                     Column::kThread, Column::kLabels, Column::kStack};
inline constexpr std::array kGroupColumns{Column::kEvent, Column::kOrigin, Column::kWorkload, Column::kThread,
                                          Column::kLabels};

// Something for each column.
template <typename T>
struct ByColumn {
  std::array<T, kColumns.size()> of = {};  // in the order of kColumns

  T& operator[](Column column) { return of[static_cast<size_t>(column)]; }
  const T& operator[](Column column) const { return of[static_cast<size_t>(column)]; }

  auto operator<=>(const ByColumn&) const = default;
};

}  // namespace plimsoll::store
