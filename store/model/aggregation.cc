#include "store/model/aggregation.h"

#include "base/process_memory.h"

namespace plimsoll::store {

uint64_t default_max_sums() {
  constexpr uint64_t kMaxSums = 64'000'000;
  static const uint64_t sums = memory_share(kMaxSums * sizeof(double), 8) / sizeof(double);
  return sums;
}

}  // namespace plimsoll::store
