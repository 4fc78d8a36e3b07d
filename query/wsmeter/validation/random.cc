#include "query/wsmeter/validation/random.h"

namespace plimsoll::query {

uint64_t Random::below(uint64_t bound) {
  const uint64_t surplus = -bound % bound;  // of 2^64 over the last multiple of the bound
  uint64_t number = engine_();
  while (number < surplus) {
    number = engine_();
  }
  return number % bound;
}

}  // namespace plimsoll::query
