// The row: (event, count, key vector), as small integers. Each is the ID of a dictionary entry (dictionaries.h), from 1.
#pragma once

#include <compare>
#include <cstdint>

namespace plimsoll::store {

struct Row {
  // In the order in which rows are sorted: what repeats most comes first, so that columns compress.
  uint32_t event = 0;
  uint32_t workload = 0;
  uint32_t stack = 0;  // 0: no stack
  uint32_t thread = 0;
  uint32_t origin = 0;
  uint64_t hits = 0;

  auto operator<=>(const Row&) const = default;
  bool same_key(const Row& other) const {
    return event == other.event && workload == other.workload && stack == other.stack &&
           thread == other.thread && origin == other.origin;
  }
};

}  // namespace plimsoll::store
