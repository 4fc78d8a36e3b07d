// The definition of RowSource, a row at a time: the model that every implementation is compared with.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "store/model/aggregation.h"

namespace plimsoll::testing {

inline bool is_selected(const store::RowFilter& filter, const store::Row& row) {
  return std::ranges::all_of(store::kColumns,
                             [&](store::Column column) { return filter[column].selects(row[column]); });
}

inline uint32_t group_of(std::span<const uint32_t> groups, uint32_t id) {
  return id < groups.size() ? groups[id] : 0;
}

inline bool is_wanted(const store::AggregateRequest& request, store::CellKey key) {
  key[store::Column::kEvent] = key[store::Column::kOrigin] = 0;
  return request.wanted.empty() || std::ranges::binary_search(request.wanted, key);
}

// Calls `use` with each cell that a row counts in.
template <typename Use>
void for_each_cell(const store::AggregateRequest& request, const store::Row& row, Use use) {
  store::CellKey key;
  for (const store::Column column : store::kColumns) {
    key[column] = request.group[column].of(row[column]);
  }
  uint32_t& of_stack = key[store::Column::kStack];
  const std::vector<uint32_t> one{of_stack};
  const store::StackGroups* const lists = request.group[store::Column::kStack].lists();
  for (const uint32_t stack :
       lists == nullptr ? std::span<const uint32_t>(one) : lists->of(row[store::Column::kStack])) {
    of_stack = stack;
    if (is_wanted(request, key)) {
      use(key);
    }
  }
}

class MemoryRows : public store::RowSource {
 public:
  explicit MemoryRows(std::vector<store::Row> rows) : rows_(std::move(rows)) {}

  Result<store::Cells> aggregate(const store::AggregateRequest& request) const override {
    if (std::ranges::any_of(store::kGroupColumns,
                            [&](store::Column column) { return request.group[column].lists() != nullptr; })) {
      return fail(ErrorCode::kInvalid, "lists of groups are of stacks");
    }
    store::Cells cells;
    cells.measures = request.measures.size();
    for (const uint32_t group : request.machine_group.values()) {
      cells.machine_groups = std::max<size_t>(cells.machine_groups, group + 1);
    }
    std::map<store::CellKey, std::vector<double>> sums;
    for (const store::Row& row : rows_) {
      if (!is_selected(request.filter, row)) {
        continue;
      }
      Status status;
      for_each_cell(request, row, [&](const store::CellKey& key) {
        auto& cell = sums[key];
        cell.resize(cells.measures * cells.machine_groups);
        for (size_t m = 0; m < cells.measures && status; ++m) {
          const store::Factors& factors = request.measures[m];
          const uint32_t event = row[store::Column::kEvent];
          const uint32_t origin = row[store::Column::kOrigin];
          if (event >= factors.size() || origin >= factors[event].size()) {
            status = fail(ErrorCode::kCorrupt, "no factor for event {} of origin {}", event, origin);
            return;
          }
          cell[m * cells.machine_groups + group_of(request.machine_group.values(), origin)] +=
              static_cast<double>(row.hits) * factors[event][origin];
        }
      });
      if (!status) {
        return propagate(status);
      }
    }
    for (const auto& [key, cell] : sums) {
      if (std::ranges::any_of(cell, [](double sum) { return sum != 0; })) {
        cells.keys.push_back(key);
        cells.sums.insert(cells.sums.end(), cell.begin(), cell.end());
      }
    }
    if (cells.sums.size() > request.max_sums) {
      return fail(ErrorCode::kTooLarge, "more than {} sums", request.max_sums);
    }
    return cells;
  }

  std::unique_ptr<store::RowCursor> scan(store::RowFilter filter) const override {
    return std::make_unique<Cursor>(rows_, filter);
  }

 private:
  class Cursor : public store::RowCursor {
   public:
    Cursor(const std::vector<store::Row>& rows, const store::RowFilter& filter) {
      std::ranges::copy_if(rows, std::back_inserter(selected_),
                           [&](const store::Row& row) { return is_selected(filter, row); });
    }
    Result<std::span<const store::Row>> next() override {
      returned_ = std::exchange(selected_, {});
      return std::span<const store::Row>(returned_);
    }

   private:
    std::vector<store::Row> selected_, returned_;
  };

  std::vector<store::Row> rows_;
};

}  // namespace plimsoll::testing
