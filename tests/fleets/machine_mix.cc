#include "tests/fleets/machine_mix.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::fleets {
namespace {

constexpr size_t kLargest = 0;
constexpr size_t kMiddle = 11;
constexpr double kHitsPerCore = 40;

double gamma(double shape, Random& random) {
  return std::gamma_distribution<double>(shape, 1 / shape)(random);
}

// Of mean 1, about.
double log_normal(double sigma, Random& random) {
  return std::exp(std::normal_distribution<double>(-sigma * sigma / 2, sigma)(random));
}

// Machines of four sizes, each between a tenth and nine tenths busy.
double busy_hits(Random& random) {
  constexpr std::array<double, 4> kCores{16, 32, 64, 96};
  const double cores = kCores.at(std::uniform_int_distribution<size_t>(0, kCores.size() - 1)(random));
  const double first = gamma(2, random);
  const double utilization = 0.1 + 0.8 * first / (first + 1.5 * gamma(3, random));
  return kHitsPerCore * cores * utilization;
}

}  // namespace

std::vector<Job> make_jobs(size_t count, Random& random) {
  std::vector<Job> jobs(count);
  for (size_t i = 0; i < count; ++i) {
    Job& job = jobs[i];
    job.shares[kCopying] = 0.03 * gamma(4, random);
    job.shares[kCollection] = i % 3 == 1 ? 0.1 * gamma(8, random) : 0;
    job.shares[kColdAnywhere] = 0.001 * gamma(4, random);
    job.instructions_per_cycle = 0.9 * log_normal(0.35, random);
  }
  jobs[kLargest].shares[kLargeJob] = 0.25;
  jobs[kMiddle].shares[kMiddleJob] = 0.4;
  jobs[count - 1].shares[kSmallJob] = 0.4;
  return jobs;
}

MachineMix::MachineMix(std::vector<Job> jobs, double size_spread)
    : jobs_(std::move(jobs)), size_spread_(size_spread) {
  double sum = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    sum += 1 / static_cast<double>(i + 1);
    popularity_.push_back(sum);
  }
}

size_t MachineMix::pick_job(Random& random) const {
  const double place = std::uniform_real_distribution<double>(0, popularity_.back())(random);
  const auto found = std::ranges::upper_bound(popularity_, place);
  return std::min<size_t>(jobs_.size() - 1, static_cast<size_t>(found - popularity_.begin()));
}

void MachineMix::add_instance(size_t job, double hits, Random& random, MachineHits& machine) const {
  machine.cycles += hits;
  const double instructions = hits * jobs_[job].instructions_per_cycle * log_normal(0.1, random);
  machine.instructions += instructions;
  if (job == kLargest) {
    machine.large_job_cycles += hits;
    machine.large_job_instructions += instructions;
  }
  for (size_t function = 0; function < kFunctions; ++function) {
    // Together they stay well below all of it.
    machine.functions.at(function) +=
        hits * std::min(0.45, jobs_[job].shares.at(function) * log_normal(0.3, random));
  }
}

MachineHits MachineMix::make(double own, const std::vector<size_t>& own_jobs, Random& random) const {
  const size_t instances = 2 + std::poisson_distribution<size_t>(3)(random);
  std::vector<size_t> jobs;
  std::vector<double> sizes;
  double sum = 0;
  for (size_t i = 0; i < instances; ++i) {
    const bool is_own = !own_jobs.empty() && std::bernoulli_distribution(own)(random);
    jobs.push_back(is_own ? own_jobs[std::uniform_int_distribution<size_t>(0, own_jobs.size() - 1)(random)]
                          : pick_job(random));
    sizes.push_back(log_normal(size_spread_, random));
    sum += sizes.back();
  }
  MachineHits machine;
  const double busy = busy_hits(random);
  for (size_t i = 0; i < instances; ++i) {
    add_instance(jobs[i], busy * sizes[i] / sum, random, machine);
  }
  return machine;
}

}  // namespace plimsoll::fleets
