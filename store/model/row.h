// The row: (event, count, key vector), as small integers. Each is the ID of a dictionary entry (dictionaries.h), from 1.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "store/model/column.h"

namespace plimsoll::store {

struct Row {
  ByColumn<uint32_t> ids = {};  // 0: no stack, no labels
  uint64_t hits = 0;            // at least 1

  uint32_t& operator[](Column column) { return ids[column]; }
  uint32_t operator[](Column column) const { return ids[column]; }

  auto operator<=>(const Row&) const = default;
  bool same_group(const Row& other) const {
    return std::ranges::all_of(kGroupColumns,
                               [&](Column column) { return ids[column] == other.ids[column]; });
  }
  bool same_key(const Row& other) const { return ids == other.ids; }
};

}  // namespace plimsoll::store
