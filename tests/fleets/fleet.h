// A fleet whose truth is known, and machines drawn from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "statistics/design.h"
#include "statistics/estimate.h"

namespace plimsoll::fleets {

using Random = std::mt19937_64;

// One machine in one interval.
struct Machine {
  uint32_t stratum = 0;
  double inclusion_probability = 1;
  double response_probability = 1;  // that it answers where drawn
  // Its daemon's governor took a sample for so many in part of the window.
  double slowdown = 1;
  double slow_part = 0;
  // That it sent in so many profiles, in each of which a hit stands for another value; 0: all hits stand for 1.
  size_t profiles = 0;
  bool is_rolled_up = false;  // these became one, as store/rollup makes it
};

enum class Statistic { kShare, kRatio, kTotal };

// What is asked for: columns of the fleet.
struct Question {
  std::string name;
  Statistic statistic = Statistic::kShare;
  size_t numerator = 0;
  size_t denominator = 0;
};

// Columns are hits that each machine is expected to bring in its window, [column][machine]. Column 0 is all of an event, of
// which the next `parts` columns are parts; the others are counted apart.
struct Fleet {
  std::string name;
  std::vector<Machine> machines;
  std::vector<size_t> drawn;  // by stratum; not looked at where machines are drawn independently
  statistics::Selection selection = statistics::Selection::kFixedSize;
  bool is_counted =
      false;  // hits are those that came, not those expected; then squares are of what each stands for
  size_t parts = 0;
  std::vector<std::vector<double>> hits;
  std::vector<std::vector<double>> squares = {};
  std::vector<Question> questions;

  double truth(const Question& question) const;
};

// Draws so many of every hundred machines of each stratum, at least `least`.
void draw_evenly(double fraction, size_t least, Fleet& fleet);

// What came from the machines that were drawn and answered, weighted; columns as the fleet's.
struct Sample {
  std::vector<statistics::SampledMachine> machines;
  std::vector<uint32_t> numbers;  // of the machines, in the fleet
  std::vector<std::vector<double>> values;
  std::vector<std::vector<double>> squares;  // of what each hit stands for
};

// Hits come at random (Poisson) at the rates expected, or in the slow part of a window at fewer, unless they were counted.
Sample draw(const Fleet& fleet, Random& random);

// The fleet with the hits that a collection from all of its machines brings.
Fleet collect_all(const Fleet& fleet, Random& random);

statistics::Estimate estimate(const Question& question, const Sample& sample,
                              const statistics::Design& design);

}  // namespace plimsoll::fleets
