// Machines that were drawn and did not answer: how those that did stand for them.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstddef>
#include <span>

namespace plimsoll::statistics {

// A part of the fleet that was drawn from separately.
struct StratumResponse {
  size_t drawn = 0;  // machines
  size_t answered = 0;
  double drawn_weight =
      0;  // of those drawn, the sum of 1 / inclusion probability: how many machines they stand for
  double answered_weight = 0;

  // By what the weights of those that answered are to be multiplied, and their inclusion probabilities divided, as if machines of a
  // stratum failed to answer at random; at least 1. 0 where no machine answered.
  double weight_factor() const;

  bool operator==(const StratumResponse&) const = default;
};

// Of the strata of one draw. Those without an answer are handed to the stratum before them, or else to the first that has an
// answer: it then stands for their machines too, and they have none. Where no stratum has an answer nothing changes.
void hand_on_silent(std::span<StratumResponse> strata);

}  // namespace plimsoll::statistics
