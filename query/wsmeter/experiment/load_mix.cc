#include "query/wsmeter/experiment/load_mix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "query/wsmeter/validation/random.h"

namespace plimsoll::query {
namespace {

constexpr int kPermutations = 1000;
constexpr uint64_t kSeed = 1;

// The loads of a job's instances, those of the test in front.
struct Pool {
  std::vector<double> loads;
  size_t test = 0;

  double mean(bool of_test) const {
    const auto from = loads.begin() + (of_test ? 0 : static_cast<ptrdiff_t>(test));
    const auto to = of_test ? loads.begin() + static_cast<ptrdiff_t>(test) : loads.end();
    return std::accumulate(from, to, 0.0) / static_cast<double>(to - from);
  }
  double control_count() const { return static_cast<double>(loads.size() - test); }
};

std::vector<double> shares_of(std::span<const Pool> pools, bool of_test) {
  std::vector<double> shares;
  double all = 0;
  for (const Pool& pool : pools) {
    shares.push_back(pool.control_count() * pool.mean(of_test));
    all += shares.back();
  }
  for (double& share : shares) {
    share = all > 0 ? share / all : 0;
  }
  return shares;
}

double distance_of(std::span<const double> control, std::span<const double> test) {
  double distance = 0;
  for (size_t i = 0; i < control.size(); ++i) {
    distance += std::abs(control[i] - test[i]);
  }
  return distance;
}

std::vector<Pool> pools_of(std::span<const ComparedJob> jobs, const Arm& control, const Arm& test) {
  std::vector<Pool> pools;
  for (const ComparedJob& job : jobs) {
    Pool pool{.loads = test.loads.find(job.job.job)->second};
    pool.test = pool.loads.size();
    const auto& others = control.loads.find(job.job.job)->second;
    pool.loads.insert(pool.loads.end(), others.begin(), others.end());
    pools.push_back(std::move(pool));
  }
  return pools;
}

}  // namespace

LoadMix load_mix(std::span<const ComparedJob> jobs, const Arm& control, const Arm& test) {
  std::vector<Pool> pools = pools_of(jobs, control, test);
  const auto of_control = shares_of(pools, false);
  const auto of_test = shares_of(pools, true);
  LoadMix mix{.jobs = {}, .distance = distance_of(of_control, of_test)};
  for (size_t i = 0; i < jobs.size(); ++i) {
    mix.jobs.push_back({.job = jobs[i].job.job, .control = of_control[i], .test = of_test[i]});
  }
  std::ranges::sort(mix.jobs, std::greater(),
                    [](const JobLoad& load) { return std::abs(load.test - load.control); });
  Random random(kSeed);
  int as_far = 1;
  for (int i = 0; i < kPermutations; ++i) {
    for (Pool& pool : pools) {
      random.draw(std::span(pool.loads), pool.test);
    }
    as_far += distance_of(shares_of(pools, false), shares_of(pools, true)) >= mix.distance ? 1 : 0;
  }
  mix.p_value = static_cast<double>(as_far) / (kPermutations + 1);
  return mix;
}

}  // namespace plimsoll::query
