// How many endpoints of applications answered within a draw, by kind of profile, over all of its machines.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/draws/draw.h"

namespace plimsoll::query {

struct KindCoverage {
  std::string kind;
  int64_t machines = 0;   // that have said what they had of it
  int64_t endpoints = 0;  // on these
  int64_t answered = 0;   // of them
  // Of those that did not, as machines report it: of each machine its commonest cause, added up.
  std::string commonest_cause = {};  // empty: all answered
  int64_t with_cause = 0;
};

// By kind. None where no machine has reported any.
std::vector<KindCoverage> kind_coverage(std::span<const store::DrawnMachine> machines);

// "heap: 9 of 12 endpoints on 4 machines answered; commonest cause of the others: no answer (2)"
std::string text_of(const KindCoverage& coverage);

}  // namespace plimsoll::query
