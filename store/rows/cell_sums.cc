#include "store/rows/cell_sums.h"

#include <algorithm>

namespace plimsoll::store {
namespace {

// Dense sums are cleared and gone through whatever the rows: this many always, more where there are rows for it.
constexpr uint64_t kAlwaysDense = uint64_t{1} << 18U;
constexpr uint64_t kMaxDense = uint64_t{1} << 24U;  // 128 MiB
constexpr uint64_t kDensePerRow = 4;

constexpr uint64_t kMaxCells = INT64_MAX;

uint64_t group_count(const std::vector<uint32_t>& groups) {
  return groups.empty() ? 1 : uint64_t{std::ranges::max(groups)} + 1;
}

}  // namespace

std::unexpected<Error> too_many_sums(uint64_t max_sums) {
  return with_hint(fail(ErrorCode::kTooLarge, "the answer has more than {} sums", max_sums),
                   "group by fewer dimensions, or narrow the time range or the filters");
}

Result<CellSpace> CellSpace::of(const AggregateRequest& request, uint32_t max_stack) {
  CellSpace space;
  space.origins_ = group_count(request.origin_group);
  space.workloads_ = group_count(request.workload_group);
  space.threads_ = group_count(request.thread_group);
  space.stacks_ = request.by_stack ? uint64_t{max_stack} + 1 : group_count(request.stack_group);
  space.measures_ = request.measures.size();
  space.machine_groups_ = group_count(request.machine_group);
  for (const uint64_t groups :
       {group_count(request.event_group), space.origins_, space.workloads_, space.threads_, space.stacks_}) {
    if (space.cells_ > kMaxCells / groups) {
      return too_many_sums(request.max_sums);
    }
    space.cells_ *= groups;
  }
  return space;
}

CellKey CellSpace::key(uint64_t cell) const {
  CellKey key;
  const auto take = [&](uint64_t groups) {
    const auto group = static_cast<uint32_t>(cell % groups);
    cell /= groups;
    return group;
  };
  key.stack = take(stacks_);
  key.thread = take(threads_);
  key.workload = take(workloads_);
  key.origin = take(origins_);
  key.event = static_cast<uint32_t>(cell);
  return key;
}

CellSums::CellSums(const CellSpace& space, uint64_t max_sums, uint64_t expected_rows)
    : space_(&space), max_sums_(max_sums) {
  const uint64_t limit =
      std::min(kMaxDense, std::max(kAlwaysDense, expected_rows * kDensePerRow)) / space.width();
  is_dense_ = space.cells() <= limit;
  if (is_dense_) {
    sums_.resize(space.cells() * space.width());
  }
}

size_t CellSums::sparse_place(uint64_t cell) {
  const auto [entry, is_new] = places_.try_emplace(cell, sums_.size());
  if (is_new) {
    if (sums_.size() + space_->width() > max_sums_) {
      places_.erase(entry);
      return kNone;
    }
    sums_.resize(sums_.size() + space_->width());
  }
  return entry->second;
}

bool CellSums::add(const CellSums& other) {
  if (is_dense_) {
    for (size_t i = 0; i < sums_.size(); ++i) {
      sums_[i] += other.sums_[i];
    }
    return true;
  }
  for (const auto& [cell, from] : other.places_) {
    const size_t to = place(cell);
    if (to == kNone) {
      return false;
    }
    for (size_t i = 0; i < space_->width(); ++i) {
      sums_[to + i] += other.sums_[from + i];
    }
  }
  return true;
}

Result<Cells> CellSums::cells() const {
  const size_t width = space_->width();
  Cells cells;
  cells.measures = space_->measures();
  cells.machine_groups = space_->machine_groups();
  bool is_refused = false;
  const auto append = [&](uint64_t cell, size_t place) {
    const auto first = sums_.begin() + static_cast<ptrdiff_t>(place);
    const auto last = first + static_cast<ptrdiff_t>(width);
    if (std::all_of(first, last, [](double sum) { return sum == 0; })) {
      return;
    }
    is_refused = is_refused || cells.sums.size() + width > max_sums_;
    if (!is_refused) {
      cells.keys.push_back(space_->key(cell));
      cells.sums.insert(cells.sums.end(), first, last);
    }
  };
  if (is_dense_) {
    for (uint64_t cell = 0; cell < space_->cells(); ++cell) {
      append(cell, cell * width);
    }
  } else {
    std::vector<std::pair<uint64_t, size_t>> ordered(places_.begin(), places_.end());
    std::ranges::sort(ordered);
    for (const auto& [cell, place] : ordered) {
      append(cell, place);
    }
  }
  return is_refused ? Result<Cells>(too_many_sums(max_sums_)) : cells;
}

}  // namespace plimsoll::store
