#include "query/rows/unit_cells.h"

#include <algorithm>

namespace plimsoll::query {

UnitCells::UnitCells(store::AggregateRequest request, const OriginUnits& sampling_units)
    : request_(std::move(request)) {
  store::IdGrouping& grouping = request_.group[Column::kOrigin];
  const auto part_of = [&](uint32_t origin) {
    return Part{sampling_units.of_origin[origin], grouping.of(origin)};
  };
  for (uint32_t origin = 0; origin < sampling_units.of_origin.size(); ++origin) {
    parts_.push_back(part_of(origin));
  }
  std::ranges::sort(parts_);
  parts_.erase(std::ranges::unique(parts_).begin(), parts_.end());
  std::vector<uint32_t> split(sampling_units.of_origin.size());
  for (uint32_t origin = 0; origin < split.size(); ++origin) {
    split[origin] = static_cast<uint32_t>(std::ranges::lower_bound(parts_, part_of(origin)) - parts_.begin());
  }
  grouping = store::IdGrouping::by(std::move(split));
}

Status UnitCells::sum(const store::RowSource& rows) {
  auto cells = rows.aggregate(request_);
  if (!cells) {
    return propagate(cells);
  }
  cells_ = std::move(*cells);
  return {};
}

std::vector<UnitCells::Range> UnitCells::ranges(size_t count) const {
  const auto is_of_unit_before = [&](size_t cell) {
    const store::CellKey& key = cells_.keys[cell];
    const store::CellKey& before = cells_.keys[cell - 1];
    return key[Column::kEvent] == before[Column::kEvent] &&
           parts_[key[Column::kOrigin]].unit == parts_[before[Column::kOrigin]].unit;
  };
  std::vector<Range> ranges;
  size_t first = 0;
  for (size_t i = 1; i <= count; ++i) {
    size_t end = cells_.size() * i / count;
    while (end > first && end < cells_.size() && is_of_unit_before(end)) {
      ++end;
    }
    if (end > first) {
      ranges.push_back({first, end});
      first = end;
    }
  }
  return ranges;
}

}  // namespace plimsoll::query
