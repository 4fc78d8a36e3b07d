// The verdict on a profile: is it stable, that is, would another look at the fleet say the same? And if not, what would help.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "statistics/stability/comparison.h"
#include "statistics/stability/sampling_noise.h"

namespace plimsoll::statistics {

enum class Stability {
  kStable,
  kNoisy,  // chance alone moves it by more than is tolerated: more machines or minutes would make it stable
  kMoved,  // it differs between the windows, by more than chance: no number of machines changes that
  kTooFewMachines,  // to tell
};

// "stable", "noisy", ...: as people read it.
std::string_view stability_name(Stability stability);

struct Tolerance {
  // Manhattan distance: twice the part of the time that may be spent elsewhere.
  double distance = 0.1;
  double entropy_bits = 0.1;
};

struct Verdict {
  Stability stability = Stability::kTooFewMachines;
  double noise = 0;  // the distance that two draws like this one are expected to have by chance
  // Where it is noisy: how many more machines, or, with these, how many times as long. Nothing: that alone is not enough.
  std::optional<size_t> machines_needed = {};
  std::optional<double> times_longer = {};
};

// `comparison` is of two equal windows, or of two random halves of one; `noise` of the profile that is judged.
// What tells the windows apart at the 5 % level (of distance and entropy together) and is more than tolerated has moved;
// smaller changes are tolerated, however sure.
Verdict judge(const Comparison& comparison, const SamplingNoise& noise, const Tolerance& tolerance);

// The machines of one window, in two random halves of each stratum, as windows of their own.
class Halves {
 public:
  Halves(const Window& window, size_t rows, uint64_t seed);

  // They borrow from this.
  Window first() const { return first_.window(); }
  Window second() const { return second_.window(); }

 private:
  struct Half {
    std::vector<uint32_t> machines;
    std::vector<uint32_t> strata;
    std::vector<double> values;
    Window window() const { return {machines, strata, values}; }
  };

  Half first_;
  Half second_;
};

}  // namespace plimsoll::statistics
