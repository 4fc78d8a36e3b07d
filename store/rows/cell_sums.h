// The sums of an aggregation while it runs, and which cell a row's groups fall into.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "store/rows/aggregation.h"

namespace plimsoll::store {

// All possible cells of a request, numbered in the order of their keys: the product of the numbers of groups.
class CellSpace {
 public:
  // `max_stack` is the largest stack ID in the rows. kTooLarge where the numbers would not fit 63 bits.
  static Result<CellSpace> of(const AggregateRequest& request, uint32_t max_stack);

  uint64_t cells() const { return cells_; }
  size_t measures() const { return measures_; }
  size_t machine_groups() const { return machine_groups_; }
  // Sums of a cell.
  size_t width() const { return measures_ * machine_groups_; }

  // A cell's number is the sum of its groups' numbers, each times its stride; that of a stack is 1.
  uint64_t thread_stride() const { return stacks_; }
  uint64_t workload_stride() const { return thread_stride() * threads_; }
  uint64_t origin_stride() const { return workload_stride() * workloads_; }
  uint64_t event_stride() const { return origin_stride() * origins_; }
  CellKey key(uint64_t cell) const;

 private:
  uint64_t cells_ = 1;
  uint64_t origins_ = 1, workloads_ = 1, threads_ = 1, stacks_ = 1;
  uint64_t measures_ = 1;
  uint64_t machine_groups_ = 1;
};

// Sums by cell. One thread. Dense where few cells are possible for the rows that come, else by hash: then it takes up to
// 8 bytes a sum and 35 bytes a cell.
class CellSums {
 public:
  CellSums(const CellSpace& space, uint64_t max_sums, uint64_t expected_rows);

  bool is_dense() const { return is_dense_; }

  // Where the cell's sums begin in sums(); valid for good. kNone once there are more sums than permitted: then the answer
  // is refused.
  static constexpr size_t kNone = SIZE_MAX;
  size_t place(uint64_t cell) { return is_dense_ ? cell * space_->width() : sparse_place(cell); }
  double* sums() { return sums_.data(); }

  // Adds what another thread has summed, of the same space. False once there are too many.
  bool add(const CellSums& other);

  // kTooLarge where the answer has more than max_sums.
  Result<Cells> cells() const;

 private:
  size_t sparse_place(uint64_t cell);

  const CellSpace* space_;
  uint64_t max_sums_;
  bool is_dense_;
  std::vector<double> sums_;
  boost::unordered_flat_map<uint64_t, size_t> places_;  // unless dense
};

std::unexpected<Error> too_many_sums(uint64_t max_sums);

}  // namespace plimsoll::store
