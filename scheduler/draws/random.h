// Randomness that a draw can be repeated from: the same on every platform and with every standard library, unlike the distributions of
// <random>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace plimsoll::scheduler {

// One thread.
class DrawRandom {
 public:
  explicit DrawRandom(uint64_t seed) : engine_(seed) {}

  // From 0 up to below `bound`, which is above 0, each as likely as any other. By Lemire (2019), "Fast Random Integer Generation in an
  // Interval".
  uint64_t below(uint64_t bound);

  // Whether something of this probability happens, in steps of 2^-53.
  bool happens(double probability);

  template <typename Value>
  void shuffle(std::span<Value> values) {
    for (size_t left = values.size(); left > 1; --left) {
      std::swap(values[left - 1], values[below(left)]);
    }
  }

 private:
  std::mt19937_64 engine_;  // its numbers are those of the standard
};

}  // namespace plimsoll::scheduler
