#include "store/segments/row_order.h"

namespace plimsoll::store {

void RowOrder::add_workload(std::string_view job) {
  const auto workload = static_cast<uint32_t>(first_of_job_.size());
  auto first = first_by_name_.find(job);
  if (first == first_by_name_.end()) {
    first = first_by_name_.emplace(job, workload).first;
  }
  first_of_job_.push_back(first->second);
}

Status RowOrder::add_workloads_of(sqlite::Database& catalogue) {
  const auto known = static_cast<int64_t>(workloads());
  const Status added = sqlite::for_each_row(
      catalogue.query("SELECT id, job FROM workload WHERE id >= ? ORDER BY id", known),
      [&](const sqlite::Statement& row) -> Status {
        if (row.integer(0) != static_cast<int64_t>(workloads())) {
          return fail(ErrorCode::kCorrupt, "{}: no such workload: {}", catalogue.path(), workloads());
        }
        add_workload(row.text(1));
        return {};
      });
  return added ? added : propagate(added, "reading the workloads of jobs");
}

}  // namespace plimsoll::store
