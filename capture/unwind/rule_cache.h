// The rules of hot return addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/unwind/unwind_table.h"

namespace plimsoll::unwind {

// UnwindTable::find() for the addresses that come again and again: a busy program returns to few. An entry is replaced by
// whatever address falls on it next. A frame takes 41 ns with it and 68 without, look-up of the mapping included
// (daemon_bench, stacks of python3, sqlite3, perl and g++). 96 KiB; one thread.
class RuleCache {
 public:
  // Borrows the table until forget_tables().
  const FrameRule& find(const UnwindTable& table, uint64_t address) {
    Entry& entry = entries_[place_of(table, address)];
    if (entry.table != &table || entry.address != address) {
      entry = {&table, address, &table.find(address)};
    }
    return *entry.rule;
  }

  // Before a table that was used is destroyed.
  void forget_tables() { entries_.assign(kEntries, {}); }

 private:
  static constexpr unsigned kBits = 12;
  static constexpr size_t kEntries = size_t{1} << kBits;

  struct Entry {
    const UnwindTable* table = nullptr;
    uint64_t address = 0;
    const FrameRule* rule = nullptr;
  };

  static size_t place_of(const UnwindTable& table, uint64_t address) {
    constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio: spreads neighbours
    return ((address ^ reinterpret_cast<uintptr_t>(&table)) * kMultiplier) >> (64 - kBits);
  }

  std::vector<Entry> entries_ = std::vector<Entry>(kEntries);
};

}  // namespace plimsoll::unwind
