// Poisson sampling of amounts: bytes, nanoseconds. An amount a is a sample with the probability p = 1 - exp(-a / period) and then
// stands for 1/p of its kind, which makes totals unbiased (Horvitz-Thompson).
#pragma once

#include <cmath>
#include <cstdint>

namespace plimsoll::appprof {

// splitmix64 (Steele, Lea, Flood 2014): no state but a counter, so that any seed is a good one.
class RandomBits {
 public:
  constexpr explicit RandomBits(uint64_t seed) : state_(seed) {}
  uint64_t next() noexcept {
    uint64_t bits = state_ += 0x9E3779B97F4A7C15;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
    return bits ^ (bits >> 31);
  }
  // Over 0 and up to 1.
  double uniform() noexcept { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }

 private:
  uint64_t state_;
};

// How much is left until the next sample. One thread; no lock, no allocation. Kept in periods, so that each amount has the
// probability of the period that it comes with: the period may change from one to the next.
class Countdown {
 public:
  constexpr Countdown() = default;
  constexpr explicit Countdown(uint64_t seed) : bits_(seed), is_drawn_(false), is_seeded_(true) {}

  // How much is left: an amount over it will be a sample.
  double left(double period) noexcept {
    if (!is_drawn_) {
      draw();
    }
    return left_ * period;
  }

  // Whether this amount is a sample. What is left over of it after the sample does not count: the exponential distribution has
  // no memory, so the distance to the next sample may be drawn from the amount's end.
  bool take(double amount, double period) noexcept {
    if (!is_drawn_) {
      draw();
    }
    left_ -= amount / period;
    if (left_ >= 0) {
      return false;
    }
    draw();
    return true;
  }

  bool is_seeded() const noexcept { return is_seeded_; }
  void seed(uint64_t seed) noexcept {
    bits_ = RandomBits(seed);
    is_seeded_ = true;
    is_drawn_ = false;
  }

 private:
  void draw() noexcept {
    left_ = -std::log(bits_.uniform());
    is_drawn_ = true;
  }

  RandomBits bits_{0};
  double left_ = 0;
  bool is_drawn_ = false;
  bool is_seeded_ = false;
};

// Whether what is a sample by `period` is also one by a longer period. Drawn with the ratio of the two probabilities, so that it is one
// with the very probability of the longer period.
inline bool is_sample_of_longer(double amount, double period, double longer, RandomBits& bits) noexcept {
  const double drawn = bits.uniform();
  // The ratio is at most (1 + a / period) * period / longer, since 1 - exp(-x) <= x and >= x / (1 + x): most are told by that.
  if (drawn * longer > period + amount) {
    return false;
  }
  return drawn * std::expm1(-amount / period) >= std::expm1(-amount / longer);
}

// How many a sample of this amount stands for.
inline double weight_of_sample(double amount, double period) noexcept {
  return amount <= 0 ? 0 : -1 / std::expm1(-amount / period);
}

// How many samples by `period` stand for one by a longer period, for readers that weight all by one period. A whole number, since those
// read no others; drawn from the two that are nearest, so that its mean is exact. An amount of 0 has the ratio of the smallest ones.
inline uint64_t samples_of_shorter(double amount, double period, double longer, RandomBits& bits) noexcept {
  const double samples =
      amount <= 0 ? longer / period : weight_of_sample(amount, longer) / weight_of_sample(amount, period);
  const double whole = std::floor(samples);
  return static_cast<uint64_t>(whole) + (bits.uniform() <= samples - whole ? 1 : 0);
}

}  // namespace plimsoll::appprof
