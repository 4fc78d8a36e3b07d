#include "daemon/waits/slots.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::waits {

Slot Slots::next(int64_t now_ns, uint32_t one_in) {
  if (left_ == 0) {
    weight_ = std::clamp(one_in, 1U, kMaxWeight);
    left_ = weight_;
    chosen_ = std::uniform_int_distribution<uint32_t>(1, weight_)(random_);
  }
  const bool is_recorded = left_ == chosen_;
  --left_;
  return {.ends_ns = now_ns + slot_ns_, .is_recorded = is_recorded, .weight = weight_};
}

uint32_t one_slot_in(double per_second, double max_per_second) {
  const double needed = std::ceil(per_second / max_per_second);
  return static_cast<uint32_t>(std::clamp(needed, 1.0, static_cast<double>(Slots::kMaxWeight)));
}

}  // namespace plimsoll::waits
