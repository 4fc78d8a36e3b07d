// Random sizes, choices and bytes for what is sent in a hostile day.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include "tests/soak/hostile_bytes.h"

namespace plimsoll::soak {

inline size_t below(Random& random, size_t end) {
  return static_cast<size_t>(random() % end);
}

template <typename Texts>
std::string one_of(const Texts& texts, Random& random) {
  return std::string(*std::next(std::begin(texts), static_cast<ptrdiff_t>(below(random, std::size(texts)))));
}

inline std::string random_bytes(size_t size, Random& random) {
  std::string bytes(size, '\0');
  std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
  return bytes;
}

// Small mostly, and now and then as large as it may be.
inline size_t skewed(size_t largest, Random& random) {
  return below(random, (largest >> below(random, 16)) + 1);
}

}  // namespace plimsoll::soak
