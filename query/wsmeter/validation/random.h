// Random numbers that a seed repeats with every compiler: the engine is the standard's, the numbers made of it our own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace plimsoll::query {

// One thread.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // From 0 up to below `bound`, which is above 0, each as likely as any other: what would favour some is drawn again.
  uint64_t below(uint64_t bound);

  // Puts `count` of the values, drawn without replacement, in front: each set as likely as any other, whatever order they were in (a partial
  // Fisher-Yates shuffle).
  template <typename Value>
  void draw(std::span<Value> values, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      std::swap(values[i], values[i + below(values.size() - i)]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace plimsoll::query
