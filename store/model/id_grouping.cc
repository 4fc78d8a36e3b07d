#include "store/model/id_grouping.h"

#include <algorithm>

namespace plimsoll::store {

uint64_t IdGrouping::groups(uint32_t last_id) const {
  if (is_each_) {
    return uint64_t{last_id} + 1;
  }
  const std::span<const uint32_t> numbers = lists_ == nullptr ? table() : std::span(lists_->groups);
  return numbers.empty() ? 1 : uint64_t{std::ranges::max(numbers)} + 1;
}

}  // namespace plimsoll::store
