// One thread's part of an aggregation: adds up blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "store/rows/aggregation.h"
#include "store/rows/cell_sums.h"
#include "store/rows/segment.h"

namespace plimsoll::store {

// Whether any row of a block may be selected, by its zones.
bool may_hold(const RowFilter& filter, const BlockZones& zones);

// Borrows the request and the space. Memory: the decoded columns of one block (3 MiB at most), and the sums.
class BlockAggregator {
 public:
  BlockAggregator(const AggregateRequest& request, const CellSpace& space, uint64_t expected_rows)
      : request_(request),
        space_(space),
        sums_(space, request.max_sums, expected_rows),
        weights_(request.measures.size()) {}

  Status add(const Segment& segment, size_t block);

  CellSums& sums() { return sums_; }

 private:
  bool needs_matrix() const {
    return request_.by_stack || !request_.stack_group.empty() || !request_.filter.stacks.empty();
  }
  void weigh_groups(const BlockZones& zones);
  void weigh_groups(const Factors& factors, const BlockZones& zones, std::vector<double>& weights);
  void select_groups(const BlockZones& zones);
  void select_groups(const std::vector<bool>& flags, const std::vector<uint32_t>& ids, Zone zone);
  void place_groups(const std::vector<uint32_t>& table, const std::vector<uint32_t>& ids, Zone zone,
                    uint64_t stride);
  void place_machines(Zone origin);
  template <typename Use>
  void for_each_number(const std::vector<uint32_t>& table, const std::vector<uint32_t>& ids, Zone zone,
                       Use use) const;
  Status add_groups();
  Status add_by_row();
  Status add_matrix();
  Status add_stacks_of_one_cell();
  void add_stacks_densely();
  Status add_stacks_one_by_one();
  uint32_t stack_group_of(uint32_t stack) const;
  Status add_value(uint64_t cell, size_t measure, uint32_t machine_group, double value);
  Status add_to(uint64_t cell, size_t group, double hits);

  const AggregateRequest& request_;
  const CellSpace& space_;
  CellSums sums_;

  // Of the block at hand.
  BlockGroups groups_;
  BlockMatrix<double> matrix_;
  bool is_any_selected_ = false;
  bool is_every_selected_ = false;
  bool is_one_cell_ = false;        // all groups fall into one cell (but for the stack) and one machine group
  bool has_places_ = false;         // groups differ in their cells
  uint64_t first_cell_of_all_ = 0;  // what the cells of all groups have in common
  bool has_every_factor_ = false;   // else some weights are NaN
  struct {
    uint32_t event = 0;
    uint32_t origin = 0;
  } without_factor_;                          // one that has none
  std::vector<uint8_t> is_selected_;          // by group
  std::vector<uint64_t> first_cell_;          // by group
  std::vector<uint32_t> machine_;             // by group
  std::vector<size_t> place_;                 // by group: of its sums, from those of the stack on
  std::vector<double> stack_sums_;            // by place in the matrix
  std::vector<std::vector<double>> weights_;  // by measure and group: the factor; 0: not selected
};

}  // namespace plimsoll::store
