// Which of several sets of events is collected when. One thread.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace plimsoll::perf {

// Sets take turns in rounds, each round in a random order of its own, so that no program falls into step with the turns of
// one set.
class Turns {
 public:
  // `sets`: distinct.
  explicit Turns(std::vector<uint32_t> sets = {}) : sets_(std::move(sets)) {}

  bool any() const { return sets_.size() > 1; }
  // Whose turn it is after next() was called; 0 before.
  uint32_t current() const { return current_; }
  // Begins the next turn: of the only set, where there is one.
  uint32_t next(std::mt19937_64& random);

 private:
  std::vector<uint32_t> sets_;
  std::vector<uint32_t> left_;  // of this round
  uint32_t current_ = 0;
};

}  // namespace plimsoll::perf
