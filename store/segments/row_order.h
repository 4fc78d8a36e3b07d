// Which rows stand together in a segment.
//
// Instances of a job run the same code: where its rows follow each other, however many machines they come from, a chunk has few stacks
// with many hits each, takes fewer bytes and less time, and is passed over as a whole by questions about other jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/model/row.h"

namespace plimsoll::store {

// By event, job, workload, origin, thread, labels, stack. A job's place is the ID of its first workload, so that workloads which come later
// leave the order of the others as it is: segments that were written at different times can be merged. Owns what it knows.
class RowOrder {
 public:
  // Of the next ID, from 1.
  void add_workload(std::string_view job);
  // Those that the catalogue has and the order does not know yet.
  Status add_workloads_of(sqlite::Database& catalogue);
  // IDs that are known, 0 among them.
  size_t workloads() const { return first_of_job_.size(); }

  // Whether `a` comes before `b`. Each workload that is not known stands for a job of its own.
  bool operator()(const Row& a, const Row& b) const {
    if (a[Column::kEvent] != b[Column::kEvent] || a[Column::kWorkload] == b[Column::kWorkload]) {
      return a < b;
    }
    const uint32_t job_of_a = first_of_job(a[Column::kWorkload]);
    const uint32_t job_of_b = first_of_job(b[Column::kWorkload]);
    return job_of_a != job_of_b ? job_of_a < job_of_b : a[Column::kWorkload] < b[Column::kWorkload];
  }

 private:
  uint32_t first_of_job(uint32_t workload) const {
    return workload < first_of_job_.size() ? first_of_job_[workload] : workload;
  }

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> first_by_name_;
  std::vector<uint32_t> first_of_job_{0};  // by workload
};

}  // namespace plimsoll::store
