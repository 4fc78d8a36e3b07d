#include "store/aggregation/cell_sums.h"

#include <algorithm>
#include <bit>
#include <ranges>

namespace plimsoll::store {
namespace {

// Rows may touch one page each, and touching one takes as long as finding a few rows by hash: this many sums are always dense,
// more where there are rows for it.
constexpr uint64_t kAlwaysDense = uint64_t{1} << 18U;
constexpr uint64_t kMaxDense = uint64_t{1} << 24U;  // 128 MiB
constexpr uint64_t kDensePerRow = 4;

constexpr uint64_t kPageSums = 512;  // 4 KiB

constexpr uint64_t kMaxCells = INT64_MAX;
constexpr uint64_t kMaxPlaces = uint64_t{1} << 20U;  // 8 MiB

}  // namespace

std::unexpected<Error> too_many_sums(uint64_t max_sums) {
  return with_hint(fail(ErrorCode::kTooLarge, "the result has more than {} sums", max_sums),
                   "group by fewer dimensions, or narrow the time range or the filters");
}

Result<CellSpace> CellSpace::of(const AggregateRequest& request, const ByColumn<uint32_t>& last_ids) {
  CellSpace space;
  for (const Column column : kColumns) {
    if (column != Column::kStack && request.group[column].lists() != nullptr) {
      return fail(ErrorCode::kInvalid,
                  "a request has lists of groups for another column than that of stacks");
    }
    space.groups_[column] = request.group[column].groups(last_ids[column]);
  }
  space.measures_ = request.measures.size();
  const std::span<const uint32_t> machine_group = request.machine_group.values();
  space.machine_groups_ = machine_group.empty() ? 1 : uint64_t{std::ranges::max(machine_group)} + 1;
  for (const Column column : kColumns | std::views::reverse) {
    const uint64_t groups = space.groups_[column];
    if (space.possible_ > kMaxCells / groups) {
      return too_many_sums(request.max_sums);
    }
    space.strides_[column] = space.possible_;
    space.possible_ *= groups;
  }
  if (!request.wanted.empty()) {
    space.number(request.wanted);
  }
  return space;
}

void CellSpace::number(std::span<const CellKey> wanted) {
  has_wanted_ = true;
  for (const CellKey& key : wanted) {
    uint64_t number = 0;
    bool is_possible = true;
    for (const Column column : kColumns) {
      const bool is_of_part = column == Column::kEvent || column == Column::kOrigin;
      is_possible = is_possible && key[column] < groups_[column];
      number += is_of_part ? 0 : key[column] * stride(column);
    }
    // Of groups that there are not, no row has a cell.
    if (is_possible) {
      wanted_.push_back(number);
    }
  }
  if (per_part() <= kMaxPlaces) {
    places_.assign(per_part(), kUnwanted);
  }
  for (size_t place = 0; place < wanted_.size(); ++place) {
    if (places_.empty()) {
      place_of_.emplace(wanted_[place], place);
    } else {
      places_[wanted_[place]] = place;
    }
  }
}

CellKey CellSpace::key(uint64_t cell) const {
  return possible_key(has_wanted_ ? cell / wanted_.size() * per_part() + wanted_[cell % wanted_.size()]
                                  : cell);
}

CellKey CellSpace::possible_key(uint64_t cell) const {
  CellKey key;
  for (const Column column : kColumns | std::views::reverse) {
    // Divisions take most of the time of an answer of many cells.
    if (groups_[column] > 1) {
      key[column] = static_cast<uint32_t>(cell % groups_[column]);
      cell /= groups_[column];
    }
  }
  return key;
}

CellSums::CellSums(const CellSpace& space, uint64_t max_sums, uint64_t expected_rows)
    : space_(&space), max_sums_(max_sums) {
  const uint64_t limit =
      std::min(kMaxDense, std::max(kAlwaysDense, expected_rows * kDensePerRow)) / space.width();
  if (space.cells() > limit) {
    return;
  }
  dense_memory_.emplace(space.cells() * space.width() * sizeof(double));
  dense_ = static_cast<double*>(dense_memory_->data());
  page_shift_ = static_cast<unsigned>(std::bit_width(std::max(uint64_t{1}, kPageSums / space.width())) - 1);
  is_touched_.resize((space.cells() >> page_shift_) + 1);
}

void CellSums::touch_all() {
  std::ranges::fill(is_touched_, 1);
}

size_t CellSums::sparse_place(uint64_t cell) {
  const auto [entry, is_new] = places_.try_emplace(cell, sparse_.size());
  if (is_new) {
    if (sparse_.size() + space_->width() > max_sums_) {
      places_.erase(entry);
      return kNone;
    }
    sparse_.resize(sparse_.size() + space_->width());
  }
  return entry->second;
}

bool CellSums::add(const CellSums& other) {
  const size_t width = space_->width();
  if (is_dense()) {
    for (uint64_t page = 0; page < is_touched_.size(); ++page) {
      if (other.is_touched_[page] == 0) {
        continue;
      }
      is_touched_[page] = 1;
      const auto [first, last] = cells_of_page(page);
      for (size_t i = first * width; i < last * width; ++i) {
        dense_[i] += other.dense_[i];
      }
    }
    return true;
  }
  for (const auto& [cell, from] : other.places_) {
    const size_t to = sparse_place(cell);
    if (to == kNone) {
      return false;
    }
    for (size_t i = 0; i < width; ++i) {
      sparse_[to + i] += other.sparse_[from + i];
    }
  }
  return true;
}

std::pair<uint64_t, uint64_t> CellSums::cells_of_page(uint64_t page) const {
  return {page << page_shift_, std::min(space_->cells(), (page + 1) << page_shift_)};
}

template <typename Use>
void CellSums::for_each_cell(Use use) const {
  const size_t width = space_->width();
  const auto use_unless_zero = [&](uint64_t cell, const double* sums) {
    if (!std::all_of(sums, sums + width, [](double sum) { return sum == 0; })) {
      use(cell, sums);
    }
  };
  if (is_dense()) {
    for (uint64_t page = 0; page < is_touched_.size(); ++page) {
      const auto [first, last] = cells_of_page(page);
      for (uint64_t cell = first; is_touched_[page] != 0 && cell < last; ++cell) {
        use_unless_zero(cell, dense_ + cell * width);
      }
    }
    return;
  }
  std::vector<std::pair<uint64_t, size_t>> ordered(places_.begin(), places_.end());
  std::ranges::sort(ordered);
  for (const auto& [cell, place] : ordered) {
    use_unless_zero(cell, sparse_.data() + place);
  }
}

Result<Cells> CellSums::cells() const {
  const size_t width = space_->width();
  size_t count = places_.size();
  if (is_dense()) {
    for_each_cell([&](uint64_t /*cell*/, const double* /*sums*/) { ++count; });
  }
  if (is_dense() && count * width > max_sums_) {
    return too_many_sums(max_sums_);
  }
  Cells cells;
  cells.measures = space_->measures();
  cells.machine_groups = space_->machine_groups();
  cells.keys.reserve(count);
  cells.sums.reserve(count * width);
  for_each_cell([&](uint64_t cell, const double* sums) {
    cells.keys.push_back(space_->key(cell));
    cells.sums.insert(cells.sums.end(), sums, sums + width);
  });
  return cells;
}

}  // namespace plimsoll::store
