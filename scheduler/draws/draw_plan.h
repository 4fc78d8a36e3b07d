// With which probability each machine is to be drawn, and draws by these probabilities. docs/scheduling.md has the method.
//
// Pure: no I/O, no clock; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "scheduler/draws/population.h"

namespace plimsoll::scheduler {

// How many machines a draw takes, and the minima.
struct DrawSize {
  // Of each stratum. Or where `machines` is not 0, that many of the whole fleet: as large a part of every stratum as gives that number.
  double fraction = 0.1;
  size_t machines = 0;
  // Of each stratum, however small it is; all of one that has fewer. At least 1: every machine must have its chance.
  size_t min_per_stratum = 2;
  // Of the machines that run a job, of each job: so many are expected. 0: as they come.
  double min_per_job = 0;
};

struct DrawnMachine {
  uint32_t machine = 0;
  double inclusion_probability = 0;

  bool operator==(const DrawnMachine&) const = default;
};

// Immutable.
class DrawPlan {
 public:
  struct Stratum {
    std::vector<uint32_t> machines;  // ascending
    double expected =
        0;  // that are drawn: the sum of their probabilities; a draw has as many, rounded up or down
  };

  // kInvalid, with the field, where a size is out of its bounds. Costs some 50 ns for each machine and each of its jobs.
  static Result<DrawPlan> make(const Population& population, const DrawSize& size);

  // By machine, to be drawn in a draw of which the turn is not known; above 0, and 1 / turns at most.
  const std::vector<double>& probabilities() const { return probabilities_; }
  const std::vector<Stratum>& strata() const { return strata_; }
  double expected() const;  // machines in a draw

  // In ascending order of the machines; the same from the same seed. Of the machines whose turn it is, and of each stratum a sample of fixed size (but for rounding) without
  // replacement, in which machines of equal probability are drawn uniformly, by the pivotal method in random order. Costs some 20 ns for
  // each machine that there is.
  std::vector<DrawnMachine> draw(uint64_t seed, uint32_t turn = 0) const;

 private:
  bool has_turn(uint32_t machine, uint32_t turn) const {
    return turn_of_.empty() || turn_of_[machine] == turn;
  }

  std::vector<double> probabilities_;
  uint32_t turns_ = 1;
  std::vector<uint32_t> turn_of_;  // as the population has them
  std::vector<Stratum> strata_;
};

}  // namespace plimsoll::scheduler
