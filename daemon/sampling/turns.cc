#include "daemon/sampling/turns.h"

#include <algorithm>

namespace plimsoll::perf {

uint32_t Turns::next(std::mt19937_64& random) {
  if (left_.empty()) {
    left_ = sets_;
    std::ranges::shuffle(left_, random);
  }
  if (!left_.empty()) {
    current_ = left_.back();
    left_.pop_back();
  }
  return current_;
}

}  // namespace plimsoll::perf
