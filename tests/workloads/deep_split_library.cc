#include "tests/workloads/deep_split_library.h"

__attribute__((noinline)) uint64_t library_digest(uint64_t seed, uint64_t rounds) {
  for (uint64_t i = 0; i < rounds; ++i) {
    seed = (seed ^ (seed >> 29)) * 0xbf58476d1ce4e5b9U + i;  // hot: library_digest
  }
  return seed;
}
