#include "bench/placement/fleet.h"

#include <cmath>
#include <numeric>
#include <random>

namespace plimsoll::bench {
namespace {

class Maker {
 public:
  Maker(const FleetShape& shape, uint64_t seed) : shape_(shape), random_(seed) {}

  query::PlacementProblem make() {
    fill(shape_.platforms, 0.6, 1.6, slowness_);
    double needed = 0;
    for (uint32_t job = 0; job < shape_.jobs; ++job) {
      problem_.loads.push_back(std::exp(6 * real()));
      needed += problem_.loads.back() * add_pairs(job);
    }
    fill(shape_.platforms, 0.5, 1.5, problem_.capacities);
    const double sum = std::accumulate(problem_.capacities.begin(), problem_.capacities.end(), 0.0);
    for (double& capacity : problem_.capacities) {
      capacity *= needed * shape_.capacity / sum;
    }
    return std::move(problem_);
  }

 private:
  double real() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }

  void fill(size_t count, double low, double high, std::vector<double>& numbers) {
    for (size_t i = 0; i < count; ++i) {
      numbers.push_back(low + (high - low) * real());
    }
  }

  // Returns the job's mean cost.
  double add_pairs(uint32_t job) {
    const double base = 0.5 + 2 * real();
    const size_t always = random_() % shape_.platforms;
    const size_t before = problem_.pairs.size();
    double sum = 0;
    for (uint32_t platform = 0; platform < shape_.platforms; ++platform) {
      const double cost = base * slowness_[platform] * std::exp(0.3 * (real() - 0.5));
      if (platform == always || real() < shape_.known) {
        problem_.pairs.push_back({.job = job, .platform = platform, .cost = cost});
        sum += cost;
      }
    }
    return sum / static_cast<double>(problem_.pairs.size() - before);
  }

  const FleetShape shape_;
  std::mt19937_64 random_;
  std::vector<double> slowness_;
  query::PlacementProblem problem_;
};

}  // namespace

query::PlacementProblem make_fleet(const FleetShape& shape, uint64_t seed) {
  return Maker(shape, seed).make();
}

}  // namespace plimsoll::bench
