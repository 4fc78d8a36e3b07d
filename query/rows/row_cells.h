// Rows of a view as what requests are to sum, and what their cells then count for.
#pragma once

#include <array>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "query/rows/grouping.h"
#include "query/rows/row_sums.h"
#include "query/snapshot/snapshot.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

// Numbers from 1 for a few of many; 0 for the others.
class Places {
 public:
  uint32_t add(uint32_t number);
  uint32_t of(uint32_t number) const;
  const std::vector<uint32_t>& numbers() const { return numbers_; }
  // Of each number below `count`.
  std::vector<uint32_t> by_number(size_t count) const;
  // Of groups by ID, only the few stay apart.
  store::IdGrouping places_of(const store::IdGrouping& grouping) const;

 private:
  boost::unordered_flat_map<uint32_t, uint32_t> places_;
  std::vector<uint32_t> numbers_;
};

// What the rows of a view say about stacks, each once: a frame, the text of a whole stack, both, or nothing at all.
class Codes {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t add(uint32_t frame_place, uint32_t text_place);
  uint32_t of(uint32_t frame_place, uint32_t text_place) const;

 private:
  boost::unordered_flat_map<uint64_t, uint32_t> numbers_;
};

// What a cell counts for.
struct RowPlace {
  uint32_t row = 0;
  bool is_self = false;
  bool is_total = false;

  RowValues of(double value) const { return {is_self ? value : 0, is_total ? value : 0}; }
};

// Immutable once made: any thread.
class RowCells {
 public:
  // Rows called `keys`, none twice. `has_totals`: else self alone is asked for. Costs about 20 ns for each node of the stacks, where rows
  // are of frames.
  RowCells(std::span<const RowKey> keys, bool has_totals, const Grouping& grouping, const Snapshot& snapshot);

  // Of a request's groups, which `grouping` has set, leaves those of the rows apart.
  void apply(store::AggregateRequest& request) const;

  // What a cell of that request counts for, whose origins have this group; absent: for none of these rows. Costs a search; cells with the
  // same groups one after the other share a part of it: `last` is to be kept from call to call of a thread.
  struct Last;
  std::optional<RowPlace> place_of(uint32_t origin_group, const store::CellKey& cell, Last& last) const;

  size_t rows() const { return rows_; }

 private:
  // Places of the groups of kEntryColumns, in their order.
  using Groups = std::array<uint32_t, kEntryColumns.size()>;
  // A row of some groups; they ascend by their codes.
  struct CodeRow {
    uint32_t code = 0;
    uint32_t row = 0;
  };

  store::StackGroups list_codes(bool has_totals, const Grouping& grouping, const Snapshot& snapshot) const;
  void add_list(const store::KeyTree& tree, uint32_t tree_class, uint32_t leaf, uint32_t text,
                store::StackGroups& lists) const;
  std::vector<store::CellKey> wanted_cells() const;

  const size_t rows_;
  store::ByColumn<bool> has_;  // rows are by dimensions of the column
  const bool needs_stacks_;
  const bool has_frames_;
  store::ByColumn<Places> places_;  // of kEntryColumns
  Places frames_, texts_;
  Codes codes_;
  boost::unordered_flat_map<Groups, std::vector<CodeRow>, boost::hash<Groups>> rows_of_;
  store::IdGrouping groups_of_stacks_;  // where rows are of stacks
};

struct RowCells::Last {
  Groups groups = {};  // of no row: places begin with 1
  std::span<const CodeRow> rows = {};
};

}  // namespace plimsoll::query
