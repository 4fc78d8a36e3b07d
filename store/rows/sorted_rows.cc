#include "store/rows/sorted_rows.h"

#include <algorithm>

namespace plimsoll::store {

Status SortedRows::next_batch() {
  if (!batch_.empty()) {
    last_ = batch_.back();
  }
  const auto batch = cursor_.next();
  if (!batch) {
    return propagate(batch);
  }
  batch_ = *batch;
  at_ = 0;
  const bool ascends = batch_.empty() || (last_ < batch_.front() && std::ranges::is_sorted(batch_));
  return ascends
             ? Status()
             : fail(ErrorCode::kCorrupt, "segment {} is damaged: its rows do not ascend", segment_->path());
}

}  // namespace plimsoll::store
