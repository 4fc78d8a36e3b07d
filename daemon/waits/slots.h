// When switches are recorded: all the time where there are few, else in random slots, so that their cost is bounded.
//
// Time is divided into rounds of n slots, of which one is chosen at random. n follows from what was recorded before the round
// began, so that each slot of it is recorded with probability 1/n whatever happens: what is seen there counts n times, and
// sums are unbiased (Horvitz and Thompson, JASA 47 (1952)). Dividing such a sum by the recorded time, which counts n times
// too, takes out the error of a last round that is cut short (Hájek's estimator: Sarndal, Swensson and Wretman, Model
// Assisted Survey Sampling, 1992, 5.7).
//
// Pure; one thread.
#pragma once

#include <cstdint>
#include <random>

namespace plimsoll::waits {

struct Slot {
  int64_t ends_ns = 0;
  bool is_recorded = false;
  uint32_t weight = 1;  // n
};

class Slots {
 public:
  static constexpr int64_t kSlotNs = 500'000'000;
  static constexpr uint32_t kMaxWeight = 200;

  explicit Slots(uint64_t seed, int64_t slot_ns = kSlotNs) : random_(seed), slot_ns_(slot_ns) {}

  // Begins a round with the next slot.
  void restart() { left_ = 0; }
  // The slot that begins now; one of `one_in` is recorded where it begins a round.
  Slot next(int64_t now_ns, uint32_t one_in);

 private:
  std::mt19937_64 random_;
  int64_t slot_ns_;
  uint32_t weight_ = 1;
  uint32_t left_ = 0;    // slots of the round
  uint32_t chosen_ = 0;  // counted from its end
};

// The n with which at most `max_per_second` records of a CPU are written on average, where `per_second` are while recording.
uint32_t one_slot_in(double per_second, double max_per_second);

}  // namespace plimsoll::waits
