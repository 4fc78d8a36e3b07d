#include "store/clickhouse/merged_rows.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "base/run_both.h"
#include "store/aggregation/cell_sums.h"

namespace plimsoll::store::clickhouse {
namespace {

// The server shares each statement out between its threads.
constexpr size_t kStatementsAtOnce = 4;

// Adds what a part has come to. Any thread.
class PartSums {
 public:
  PartSums(const CellSpace& space, uint64_t max_sums)
      : space_(space), max_sums_(max_sums), sums_(space, max_sums, 0) {}

  Status add(const Cells& cells) {
    const std::lock_guard lock(mutex_);
    for (size_t cell = 0; cell < cells.size(); ++cell) {
      uint64_t possible = 0;
      for (const Column column : kColumns) {
        possible += cells.keys[cell][column] * space_.stride(column);
      }
      const size_t place = sums_.place(space_.wanted(possible));
      if (place == CellSums::kNone) {
        return too_many_sums(max_sums_);
      }
      for (size_t measure = 0; measure < cells.measures; ++measure) {
        // A part may have fewer groups of machines than there are.
        double* const to = sums_.sums() + place + measure * space_.machine_groups();
        const auto from = cells.by_machine_group(cell, measure);
        std::ranges::transform(from, std::span(to, from.size()), to, std::plus());
      }
    }
    return {};
  }

  Result<Cells> cells() const { return sums_.cells(); }

 private:
  const CellSpace& space_;
  const uint64_t max_sums_;
  std::mutex mutex_;
  CellSums sums_;  // protected by mutex_
};

}  // namespace

Result<Cells> MergedRows::aggregate(const AggregateRequest& request) const {
  const auto space = CellSpace::of(request, last_ids_);
  if (!space) {
    return propagate(space);
  }
  PartSums sums(*space, request.max_sums);
  std::atomic<size_t> next = 0;
  std::vector<Status> results(parts_.size());
  std::atomic<bool> has_failed = false;
  run_all(std::min(kStatementsAtOnce, parts_.size()), [&](size_t) {
    for (size_t part = next++; part < parts_.size() && !has_failed; part = next++) {
      const auto cells = parts_[part].rows->aggregate(translate(request, parts_[part].translation));
      results[part] = cells ? sums.add(*cells) : propagate(cells);
      has_failed = has_failed || !results[part];
    }
  });
  for (const Status& result : results) {
    if (!result) {
      return propagate(result);
    }
  }
  return sums.cells();
}

std::unique_ptr<RowCursor> MergedRows::scan(RowFilter filter) const {
  return scan_parts(parts_, std::move(filter));
}

std::shared_ptr<const RowSource> merge_rows(std::vector<PartRows> parts, const ByColumn<uint32_t>& last_ids) {
  return std::make_shared<const MergedRows>(std::move(parts), last_ids);
}

}  // namespace plimsoll::store::clickhouse
