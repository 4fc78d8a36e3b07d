#include "scheduler/draws/random.h"

namespace plimsoll::scheduler {

uint64_t DrawRandom::below(uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(engine_()) * bound;
  if (static_cast<uint64_t>(product) < bound) {
    // The lowest 2^64 mod `bound` products would make some numbers likelier.
    const uint64_t uneven = -bound % bound;
    while (static_cast<uint64_t>(product) < uneven) {
      product = static_cast<Wide>(engine_()) * bound;
    }
  }
  return static_cast<uint64_t>(product >> 64U);
}

bool DrawRandom::happens(double probability) {
  constexpr double kSteps = static_cast<double>(uint64_t{1} << 53U);
  return static_cast<double>(engine_() >> 11U) < probability * kSteps;
}

}  // namespace plimsoll::scheduler
