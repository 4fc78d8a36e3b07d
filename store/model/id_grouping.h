// Into which groups dictionary IDs fall, as requests carry it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "store/model/id_table.h"

namespace plimsoll::store {

// The group of an ID in a table of groups.
inline uint32_t group_number(std::span<const uint32_t> table, uint32_t id) {
  return id < table.size() ? table[id] : 0;
}

// Any number of groups for each stack, as lists that stacks share.
struct StackGroups {
  std::vector<uint32_t> list_of_stack = {};  // by stack ID; those beyond the end have no groups
  std::vector<uint32_t> first = {0};         // those of list i go from first[i] up to first[i + 1]
  std::vector<uint32_t> groups = {};         // of a list, none twice

  std::span<const uint32_t> of(uint32_t stack) const {
    if (stack >= list_of_stack.size()) {
      return {};
    }
    const uint32_t list = list_of_stack[stack];
    return std::span(groups).subspan(first[list], first[list + 1] - first[list]);
  }
};

// Groups are numbered from 0, densely. Immutable: a copy costs nothing and shares the table or the lists, any number of threads may read it.
class IdGrouping {
 public:
  // All IDs are in group 0.
  IdGrouping() = default;
  // Each ID is a group of its own, numbered by itself: there is no table.
  static IdGrouping each() {
    IdGrouping grouping;
    grouping.is_each_ = true;
    return grouping;
  }
  // A group for each ID; IDs beyond the end are in group 0.
  static IdGrouping by(std::vector<uint32_t> numbers) {
    IdGrouping grouping;
    grouping.table_ = IdTable<uint32_t>(std::move(numbers));
    return grouping;
  }
  // Of stacks alone: a row counts in each of its stack's groups, and nowhere if it has none.
  static IdGrouping in_lists(StackGroups lists) {
    IdGrouping grouping;
    grouping.lists_ = std::make_shared<const StackGroups>(std::move(lists));
    return grouping;
  }

  bool is_one() const { return !is_each_ && table_.empty() && lists_ == nullptr; }
  bool is_each() const { return is_each_; }
  // By ID; empty where there is none.
  std::span<const uint32_t> table() const { return table_.values(); }
  // Absent where there are none.
  const StackGroups* lists() const { return lists_.get(); }
  // The only group of an ID, where there are no lists.
  uint32_t of(uint32_t id) const { return is_each_ ? id : group_number(table_.values(), id); }
  // How many groups there are for IDs up to `last_id`.
  uint64_t groups(uint32_t last_id) const;

 private:
  bool is_each_ = false;
  IdTable<uint32_t> table_;
  std::shared_ptr<const StackGroups> lists_;
};

}  // namespace plimsoll::store
