// Sorts the cells of an aggregation into the rows of a view, by the values of dimensions.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "query/views/dimension.h"
#include "query/views/snapshot.h"
#include "query/views/table.h"
#include "store/rows/aggregation.h"

namespace plimsoll::query {

// A group of rows: a number for each dimension, which stands for its text.
using GroupKey = std::vector<uint32_t>;

// One thread. Borrows both: the dimensions and the snapshot.
class Grouping {
 public:
  Grouping(std::span<const Dimension> by, const Snapshot& snapshot) : by_(by), snapshot_(snapshot) {}

  // Whether groups depend on frames or stacks: then cells must be by stack.
  bool needs_stacks() const {
    return groups_by(DimensionSource::kFrame) || groups_by(DimensionSource::kStack);
  }

  // Sets the request's groups by origin, workload and thread; before any cell comes.
  void add_groups(store::AggregateRequest& request);

  // The group of the cell's leaf, its innermost inlined frame.
  GroupKey self_key(const store::CellKey& cell);
  // The groups that any frame of the cell's stack falls into, each once; that of self_key() where no dimension is of frames.
  std::set<GroupKey> total_keys(const store::CellKey& cell);

  std::vector<TableColumn> columns() const;
  // Appends the texts of a group, a cell for each column.
  void add_texts(const GroupKey& key, std::vector<Value>& row) const;
  // The order of the texts.
  bool less(const GroupKey& a, const GroupKey& b) const;

 private:
  class Interner {
   public:
    uint32_t number(const std::string& text);
    const std::string& text(uint32_t number) const { return texts_[number]; }

   private:
    std::map<std::string, uint32_t, std::less<>> numbers_;
    std::vector<std::string> texts_;
  };

  bool groups_by(DimensionSource source) const;
  template <typename ValueOf>
  void number_entries(DimensionSource source, size_t entries, std::vector<uint32_t>& group,
                      std::vector<GroupKey>& keys, ValueOf value_of);
  GroupKey key_of(const store::CellKey& cell, const GroupKey& frame_key) const;
  uint32_t stack_number(uint32_t stack);
  GroupKey frame_key(FramePlace place, uint32_t stack);
  const std::vector<GroupKey>& location_keys(uint32_t location, uint32_t stack);
  uint32_t leaf_of(const store::CellKey& cell) const;

  std::span<const Dimension> by_;
  const Snapshot& snapshot_;
  Interner interner_;
  std::vector<GroupKey> origin_keys_, workload_keys_, thread_keys_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<GroupKey>> location_keys_;  // by location and stack
  std::map<uint32_t, uint32_t> stack_numbers_;
};

}  // namespace plimsoll::query
