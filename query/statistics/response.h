// Machines that were drawn and did not answer: who they are, and how those that did stand for them.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll::statistics {

struct DrawnMachine {
  uint32_t stratum = 0;  // as in SampledMachine
  double inclusion_probability = 1;
  // Why nothing came, as the caller numbers causes (gone, refused, lost, ...), densely from 0; nothing: it answered.
  std::optional<uint32_t> missing_by = {};
};

struct Response {
  // By stratum: by what the weights of its machines are to be multiplied, and their inclusion probabilities divided; at least 1.
  // 0 where nobody answered: the machines of the stratum before (else behind) that did then stand for it too.
  std::vector<double> weight_factors;
  std::vector<size_t> missing;  // machines by cause
  size_t drawn = 0;
  size_t answered = 0;
  size_t silent_strata = 0;  // drawn from, and nobody answered
};

// As if machines of a stratum failed to answer at random. Inclusion probabilities must be above 0.
Response account_for_response(std::span<const DrawnMachine> machines);

}  // namespace plimsoll::statistics
