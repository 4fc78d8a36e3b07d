// One thread's part of an aggregation: adds up chunks of a block.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/aggregation/cell_sums.h"
#include "store/aggregation/weighed_groups.h"
#include "store/model/aggregation.h"
#include "store/segments/segment.h"

namespace plimsoll::store {

// Borrows the request, the space, and the sums that it adds to. Memory: the decoded columns of one chunk (3 MiB at most).
class ChunkAggregator {
 public:
  ChunkAggregator(const AggregateRequest& request, const CellSpace& space, CellSums& sums)
      : request_(request),
        space_(space),
        sums_(sums),
        lists_(request.group[Column::kStack].lists()),
        weighed_(request, space) {}

  Status add(const Segment& segment, size_t chunk);

 private:
  bool needs_matrix() const {
    return !request_.group[Column::kStack].is_one() || !request_.filter[Column::kStack].is_all();
  }
  Status add_groups(const ChunkZones& zones);
  Status add_groups(std::span<const double> hits);
  Status add_to_one_cell(std::span<const double> hits);
  bool has_long_runs() const;
  void add_groups_densely(std::span<const double> hits);
  Status add_to_one_cell(const Segment& segment, size_t chunk);
  bool is_stack_selected(size_t place) const {
    return is_stack_selected_.empty() || is_stack_selected_[place] != 0;
  }
  // The numbers of its stack's groups.
  std::span<const uint32_t> numbers_of(size_t place) const {
    return lists_ == nullptr ? stack_number_.subspan(place, 1) : lists_->of(stack_number_[place]);
  }
  void number_stacks(std::span<const uint32_t> stacks);
  void sum_hits_by_place();
  void sum_values_by_place(size_t measure);
  Status add_values(size_t measure, double factor);
  void add_densely();
  void add_lists_densely();
  void add_entries(size_t entries, std::span<const uint32_t> numbers);
  Status add_one_by_one();
  Status add_value(uint64_t possible_cell, size_t measure, uint32_t machine_group, double value);
  Status add_to(uint64_t cell, size_t group, double hits);

  const AggregateRequest& request_;
  const CellSpace& space_;
  CellSums& sums_;
  const StackGroups* const lists_;  // of the request; absent: it has none

  // Of the chunk at hand. A place of the matrix is a stack, or a row where rows stand for themselves.
  ChunkGroups groups_;
  WeighedGroups weighed_;
  ChunkMatrix<double> matrix_;
  ChunkMatrix<uint64_t> counts_;   // in its place, where the groups of its entries are not needed
  std::vector<uint32_t> numbers_;  // by place, unless they are its stacks' IDs
  std::span<const uint32_t>
      stack_number_;  // by place: the group of its stack; or the stack, where it has several
  std::vector<uint8_t> is_stack_selected_;  // by place; empty: all are
  std::vector<double> values_;              // by place: to be added up
  std::vector<size_t> first_sum_;           // by group: where its sums are, from those of the stack on
  std::vector<uint64_t> within_part_;       // by group: its first cell
  std::vector<uint32_t> entry_group_;       // of the entries of one stack
  std::vector<double> entry_hits_;
};

}  // namespace plimsoll::store
