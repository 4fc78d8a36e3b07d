// How often margins hold the truth, and how wide they are, over many draws from a fleet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fleets/fleet.h"

namespace plimsoll::fleets {

// The margins of a kind that a cell's draws came to.
struct Margins {
  size_t draws = 0;
  double within_interval = 0;  // the share of them with low <= truth <= high
  double within_margin = 0;    // and with |estimate - truth| <= margin
  double mean_margin = 0;
};

// One question asked of one fleet.
struct Cell {
  std::string fleet;
  std::string question;
  double truth = 0;
  size_t draws = 0;
  double machines = 0;  // that contribute, on average
  Margins enough;       // of enough machines, or of all that there are
  Margins few;          // labelled as of few machines; those of one alone are not counted
  // The margin of who knows the population: what |estimate - truth| exceeds in 5 of 100 draws.
  double oracle_margin = 0;

  // In most draws there are enough machines.
  bool is_of_enough() const { return enough.draws * 2 >= draws; }
};

std::vector<Cell> measure_coverage(const Fleet& fleet, size_t draws, uint64_t seed);

}  // namespace plimsoll::fleets
