// What runs on the machines of a simulated fleet: instances of jobs, which spend their time in functions.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "tests/fleets/fleet.h"

namespace plimsoll::fleets {

// Functions that are asked for, each a column of hits.
enum Function : size_t {
  kCopying,       // in every job, more in some
  kCollection,    // of garbage: in some jobs, a large part of each
  kLargeJob,      // the hottest of the largest job
  kMiddleJob,     // of one that every tenth machine or so has
  kSmallJob,      // of one that every fiftieth has
  kColdAnywhere,  // a thousandth of every job
  kFunctions,
};

struct Job {
  std::array<double, kFunctions> shares{};
  double instructions_per_cycle = 1;
};

// Jobs from the largest to the smallest: the n-th is 1/n of the first's popularity.
std::vector<Job> make_jobs(size_t count, Random& random);

// One machine's expected hits in its window.
struct MachineHits {
  double cycles = 0;
  double instructions = 0;
  double large_job_cycles = 0;
  double large_job_instructions = 0;
  std::array<double, kFunctions> functions{};
};

class MachineMix {
 public:
  // `size_spread`: the standard deviation of the logarithm of an instance's size.
  MachineMix(std::vector<Job> jobs, double size_spread);

  // A machine with instances of jobs as popular as they are; with a probability of `own`, of one of `own_jobs` instead.
  MachineHits make(double own, const std::vector<size_t>& own_jobs, Random& random) const;

 private:
  size_t pick_job(Random& random) const;
  void add_instance(size_t job, double hits, Random& random, MachineHits& machine) const;

  std::vector<Job> jobs_;
  std::vector<double> popularity_;  // cumulative
  double size_spread_;
};

}  // namespace plimsoll::fleets
