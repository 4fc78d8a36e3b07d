// The row: (event, count, key vector), as small integers. Each is the ID of a dictionary entry (dictionaries.h), from 1.
#pragma once

#include <compare>
#include <cstdint>

namespace plimsoll::store {

struct Row {
  // In the order in which rows are sorted. The first four are a group of rows: who ran, when and where; most questions
  // are answered by groups alone, and a group has many stacks.
  uint32_t event = 0;
  uint32_t workload = 0;
  uint32_t origin = 0;
  uint32_t thread = 0;
  uint32_t stack = 0;  // 0: no stack
  uint64_t hits = 0;   // at least 1

  auto operator<=>(const Row&) const = default;
  bool same_group(const Row& other) const {
    return event == other.event && workload == other.workload && origin == other.origin &&
           thread == other.thread;
  }
  bool same_key(const Row& other) const { return same_group(other) && stack == other.stack; }
};

}  // namespace plimsoll::store
