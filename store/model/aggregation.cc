#include "store/model/aggregation.h"

#include <utility>

#include "base/process_memory.h"

namespace plimsoll::store {

Factors factors_of(std::vector<std::vector<double>> by_event) {
  Factors factors;
  factors.reserve(by_event.size());
  for (std::vector<double>& by_origin : by_event) {
    factors.emplace_back(std::move(by_origin));
  }
  return factors;
}

uint64_t default_max_sums() {
  constexpr uint64_t kMaxSums = 64'000'000;
  static const uint64_t sums = memory_share(kMaxSums * sizeof(double), 8) / sizeof(double);
  return sums;
}

}  // namespace plimsoll::store
