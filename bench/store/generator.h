// Rows to measure on: the same ones each time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "store/model/row.h"

namespace plimsoll::bench {

// How large the generated fleet is. IDs are from 1; a job's stacks follow each other.
inline constexpr uint32_t kMachines = 5000;
inline constexpr uint32_t kJobs = 400;
inline constexpr uint32_t kStacksOfJob = 500;
inline constexpr uint32_t kEvents = 6;
inline constexpr uint32_t kOrigins = 250'000;
inline constexpr uint32_t kQuickOrigins = 10'000;  // with --quick: two windows, so that events 1 and 2 occur

// An origin is the profile of one machine in one window of time; windows follow each other.
inline uint32_t machine_of(uint32_t origin) {
  return (origin - 1) % kMachines;
}
inline uint32_t window_of(uint32_t origin) {
  return (origin - 1) / kMachines;
}

// A number that looks random: the same for the same seed (splitmix64).
uint64_t scrambled(uint64_t seed);
double uniform(uint64_t seed);  // in [0, 1)

// Appends the rows of one origin, in ascending order, none with the key of another.
using RowGenerator = std::function<void(uint32_t origin, std::vector<store::Row>& rows)>;

// Shaped like real profiles: of 200 samples of one event each, from 8 job slots a machine; jobs, stacks and hits skewed. 50
// million samples are 250,000 profiles and about 39 million rows. Stack k of job j is first_stack + j * 500 + k.
class ProfileRows {
 public:
  static constexpr uint32_t kSamples = 200;  // a profile

  explicit ProfileRows(uint32_t first_stack);
  void append(uint32_t origin, std::vector<store::Row>& rows);

  // What the rows so far take at least: the logarithm of how improbable they are to somebody who knows the distribution that
  // they are drawn from, which job runs where, and what each profile's event is. A row's place in the file says nothing.
  double min_bits() const { return bits_; }

 private:
  const std::vector<double>& hits_bits(uint32_t samples);
  void append_run(uint32_t origin, uint32_t job, uint32_t samples, std::vector<store::Row>& rows);

  uint32_t first_stack_;
  std::vector<uint32_t> job_of_slot_;
  std::vector<double> stack_bits_;              // by stack of a job
  std::vector<double> log2_factorial_;          // by number of samples
  std::vector<std::vector<double>> hits_odds_;  // by samples, then by their hits
  std::vector<std::vector<double>> hits_bits_;
  std::vector<uint64_t> drawn_;  // stack << 32 | hits, of one job slot
  double bits_ = 0;
};

// The worst case: every column drawn for itself, each value as likely as any other; about 160 rows an origin.
class IndependentRows {
 public:
  static constexpr uint32_t kRowsOfOrigin = 160;
  static constexpr uint32_t kMaxHits = 50;

  explicit IndependentRows(uint32_t first_stack) : first_stack_(first_stack) {}
  void append(uint32_t origin, std::vector<store::Row>& rows) const;

  // As above, for so many rows of so many origins in all, whose order in the file says nothing.
  static double min_bits(uint64_t rows, uint32_t origins);

 private:
  uint32_t first_stack_;
};

}  // namespace plimsoll::bench
