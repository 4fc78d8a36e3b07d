// The sums of an aggregation while it runs, and which cell a row's groups fall into.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/zeroed_memory.h"
#include "store/model/aggregation.h"

namespace plimsoll::store {

// All possible cells of a request, numbered in the order of their keys: the product of the numbers of groups; and the cells that are
// wanted, in the same order.
class CellSpace {
 public:
  // `last_ids`: the largest IDs in the rows, or larger ones. kTooLarge where the numbers would not fit 63 bits; kInvalid where another column
  // than that of stacks has lists of groups.
  static Result<CellSpace> of(const AggregateRequest& request, const ByColumn<uint32_t>& last_ids);

  // That are wanted: numbered part by part, a part being an event and an origin, without gaps.
  uint64_t cells() const { return has_wanted_ ? parts() * wanted_.size() : possible_; }
  // Of a possible cell's number, that among the wanted ones is first_of_part() + place(within_part()), or it is not wanted. The first
  // two cost a division each, the last a look-up.
  static constexpr uint64_t kUnwanted = UINT64_MAX;
  uint64_t first_of_part(uint64_t possible) const {
    return has_wanted_ ? possible / per_part() * wanted_.size() : possible;
  }
  uint64_t within_part(uint64_t possible) const { return has_wanted_ ? possible % per_part() : 0; }
  uint64_t place(uint64_t within_part) const {
    return !has_wanted_                      ? within_part
           : within_part < places_.size()    ? places_[within_part]
           : place_of_.contains(within_part) ? place_of_.at(within_part)
                                             : kUnwanted;
  }
  uint64_t wanted(uint64_t possible) const {
    const uint64_t place = this->place(within_part(possible));
    return place == kUnwanted ? kUnwanted : first_of_part(possible) + place;
  }
  bool has_wanted() const { return has_wanted_; }
  size_t measures() const { return measures_; }
  size_t machine_groups() const { return machine_groups_; }
  // Sums of a cell.
  size_t width() const { return measures_ * machine_groups_; }

  // A possible cell's number is the sum of its groups' numbers, each times its stride; that of a stack is 1.
  uint64_t stride(Column column) const { return strides_[column]; }
  // Of a wanted cell.
  CellKey key(uint64_t cell) const;

 private:
  uint64_t per_part() const { return stride(Column::kOrigin); }  // possible cells of an event and origin
  uint64_t parts() const { return possible_ / per_part(); }
  CellKey possible_key(uint64_t cell) const;
  void number(std::span<const CellKey> wanted);

  uint64_t possible_ = 1;
  bool has_wanted_ = false;
  std::vector<uint64_t> wanted_;  // their numbers within a part
  // Their places among them: by number where the possible ones are few, else by hash.
  std::vector<uint64_t> places_;
  boost::unordered_flat_map<uint64_t, uint64_t> place_of_;
  ByColumn<uint64_t> groups_;  // how many there are
  ByColumn<uint64_t> strides_;
  uint64_t measures_ = 1;
  uint64_t machine_groups_ = 1;
};

// Sums by cell. One thread. Dense where few cells are possible for the rows that come, else by hash: then it takes up to
// 8 bytes a sum and 35 bytes a cell. Dense sums take memory, and time to hand them out, by the page of 4 KiB that is
// touched.
class CellSums {
 public:
  CellSums(const CellSpace& space, uint64_t max_sums, uint64_t expected_rows);

  bool is_dense() const { return dense_ != nullptr; }

  // Where the wanted cell's sums begin in sums(); valid for good. kNone once there are more sums than permitted: then the answer
  // is refused.
  static constexpr size_t kNone = SIZE_MAX;
  size_t place(uint64_t cell) {
    if (!is_dense()) {
      return sparse_place(cell);
    }
    touch(cell);
    return cell * space_->width();
  }
  double* sums() { return is_dense() ? dense_ : sparse_.data(); }

  // Dense sums may be added to without place(), but then the caller says where: what is not touched counts as 0.
  void touch(uint64_t cell) { is_touched_[cell >> page_shift_] = 1; }
  void touch_all();

  // Adds what another thread has summed, of the same space. False once there are too many.
  bool add(const CellSums& other);

  // kTooLarge where the answer has more than max_sums. On as many threads as there are CPUs and sums for.
  Result<Cells> cells() const;

 private:
  // Calls `use` with the number and the sums of each cell of some pages that has one other than 0, in ascending order.
  template <typename Use>
  void for_each_cell_of_pages(uint64_t first_page, uint64_t end_page, Use use) const;
  Result<Cells> dense_cells() const;
  Cells sparse_cells() const;
  void reserve(size_t count, Cells& cells) const;
  void append(uint64_t cell, const double* sums, Cells& cells) const;
  size_t sparse_place(uint64_t cell);
  std::pair<uint64_t, uint64_t> cells_of_page(uint64_t page) const;  // the first, and the one behind the last

  const CellSpace* space_;
  uint64_t max_sums_;
  std::optional<ZeroedMemory> dense_memory_;
  double* dense_ = nullptr;          // in it; absent where sums are by hash
  unsigned page_shift_ = 0;          // of a cell's number, to that of its page
  std::vector<uint8_t> is_touched_;  // by page
  std::vector<double> sparse_;
  boost::unordered_flat_map<uint64_t, size_t> places_;  // unless dense
};

std::unexpected<Error> too_many_sums(uint64_t max_sums);

}  // namespace plimsoll::store
