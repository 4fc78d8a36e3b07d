#include "store/aggregation/cell_sums.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <ranges>
#include <span>
#include <thread>
#include <utility>

#include "base/run_both.h"

namespace plimsoll::store {
namespace {

// Rows may touch one page each, and touching one takes as long as finding a few rows by hash: this many sums are always dense,
// more where there are rows for it.
constexpr uint64_t kAlwaysDense = uint64_t{1} << 18U;
constexpr uint64_t kMaxDense = uint64_t{1} << 24U;  // 128 MiB
constexpr uint64_t kDensePerRow = 4;

constexpr uint64_t kPageSums = 512;  // 4 KiB

// Starting a thread takes as long as handing out this many sums.
constexpr uint64_t kSumsPerThread = 100'000;

constexpr uint64_t kMaxCells = INT64_MAX;
constexpr uint64_t kMaxPlaces = uint64_t{1} << 20U;  // 8 MiB

bool is_zero(const double* sums, size_t width) {
  return std::all_of(sums, sums + width, [](double sum) { return sum == 0; });
}

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
void CellSums::for_each_cell_of_pages(uint64_t first_page, uint64_t end_page, Use use) const {
  const size_t width = space_->width();
  for (uint64_t page = first_page; page < end_page; ++page) {
    const auto [first, last] = cells_of_page(page);
    for (uint64_t cell = first; is_touched_[page] != 0 && cell < last; ++cell) {
      const double* const sums = dense_ + cell * width;
      if (!is_zero(sums, width)) {
        use(cell, sums);
      }
    }
  }
}

// Filling an answer of millions of cells takes as long as summing them: each thread fills a part.
Result<Cells> CellSums::dense_cells() const {
  const size_t width = space_->width();
  const uint64_t pages = is_touched_.size();
  const uint64_t cpus = std::max(1U, std::thread::hardware_concurrency());
  const size_t threads = std::clamp<uint64_t>(space_->cells() * width / kSumsPerThread, 1, cpus);
  const auto first_page = [&](size_t thread) { return pages * thread / threads; };
  std::vector<size_t> counts(threads);
  run_all(threads, [&](size_t thread) {
    for_each_cell_of_pages(first_page(thread), first_page(thread + 1),
                           [&](uint64_t /*cell*/, const double* /*sums*/) { ++counts[thread]; });
  });
  const size_t count = std::reduce(counts.begin(), counts.end());
  if (count * width > max_sums_) {
    return too_many_sums(max_sums_);
  }
  std::vector<Cells> parts(threads);
  run_all(threads, [&](size_t thread) {
    // The first is the answer, with room for all.
    reserve(thread == 0 ? count : counts[thread], parts[thread]);
    for_each_cell_of_pages(first_page(thread), first_page(thread + 1),
                           [&](uint64_t cell, const double* sums) { append(cell, sums, parts[thread]); });
  });
  Cells& cells = parts.front();
  for (const Cells& part : std::span(parts).subspan(1)) {
    cells.keys.insert(cells.keys.end(), part.keys.begin(), part.keys.end());
    cells.sums.insert(cells.sums.end(), part.sums.begin(), part.sums.end());
  }
  return std::move(cells);
}

Cells CellSums::sparse_cells() const {
  std::vector<std::pair<uint64_t, size_t>> ordered(places_.begin(), places_.end());
  std::ranges::sort(ordered);
  Cells cells;
  reserve(ordered.size(), cells);
  for (const auto& [cell, place] : ordered) {
    if (const double* const sums = sparse_.data() + place; !is_zero(sums, space_->width())) {
      append(cell, sums, cells);
    }
  }
  return cells;
}

void CellSums::reserve(size_t count, Cells& cells) const {
  cells.measures = space_->measures();
  cells.machine_groups = space_->machine_groups();
  cells.keys.reserve(count);
  cells.sums.reserve(count * space_->width());
}

void CellSums::append(uint64_t cell, const double* sums, Cells& cells) const {
  cells.keys.push_back(space_->key(cell));
  cells.sums.insert(cells.sums.end(), sums, sums + space_->width());
}

Result<Cells> CellSums::cells() const {
  return is_dense() ? dense_cells() : Result<Cells>(sparse_cells());
}

}  // namespace plimsoll::store
