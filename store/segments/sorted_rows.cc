#include "store/segments/sorted_rows.h"

#include <algorithm>
#include <functional>

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
  const bool is_in_order = batch_.empty() || ((*order_)(last_, batch_.front()) &&
                                              std::ranges::is_sorted(batch_, std::cref(*order_)));
  return is_in_order ? Status()
                     : fail(ErrorCode::kCorrupt, "segment {} is damaged: its rows are not in order",
                            segment_->path());
}

}  // namespace plimsoll::store
