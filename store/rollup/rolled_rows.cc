#include "store/rollup/rolled_rows.h"

#include <utility>

namespace plimsoll::store {

RolledRows::RolledRows(const Hours& hours, std::vector<uint32_t> workload_of, RowOrder order,
                       std::string segments_path)
    : hours_(hours),
      workload_of_(std::move(workload_of)),
      sorter_(
          std::move(order),
          [&hours](uint32_t origin) -> const OriginEntry& { return hours.origins()[origin].entry; },
          std::move(segments_path)) {
  for (size_t origin = 1; origin < hours.origins().size(); ++origin) {
    hits_.add_origin(hours.origins()[origin].events);
  }
}

Status RolledRows::add(std::span<const Row> rows) {
  for (Row row : rows) {
    uint32_t& origin = row[Column::kOrigin];
    uint32_t& workload = row[Column::kWorkload];
    if (workload >= workload_of_.size() || origin == 0 || origin > hours_.profiles()) {
      return fail(ErrorCode::kCorrupt, "the segments have IDs that the catalogue does not have");
    }
    row.hits *= hours_.multiplier(origin, row[Column::kEvent]);
    origin = hours_.origin_of(origin);
    workload = workload_of_[workload];
    row[Column::kThread] = 1;
    row[Column::kLabels] = row[Column::kLabels] == 0 ? 0 : 1;
    Status added = hits_.add(row);
    added = added ? sorter_.add(row) : added;
    if (!added) {
      return added;
    }
  }
  return {};
}

Result<std::vector<SegmentEntry>> RolledRows::finish(const std::stop_token& stop) {
  const Status is_whole = hits_.expect_all(1, hits_.origins());
  return is_whole ? sorter_.finish(stop) : propagate(is_whole);
}

}  // namespace plimsoll::store
