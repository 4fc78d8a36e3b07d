// The seed of a fuzz test: its own in ctest, so that the same damage comes every time; PLIMSOLL_TEST_FUZZ_SEED for long runs.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace plimsoll::fuzz {

inline uint64_t seed(uint64_t of_test) {
  const char* const text = std::getenv("PLIMSOLL_TEST_FUZZ_SEED");
  return of_test + (text == nullptr ? 0 : std::strtoull(text, nullptr, 10) * 1000);
}

}  // namespace plimsoll::fuzz
