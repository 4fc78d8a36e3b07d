#include "bench/fdo/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "bench/harness/child.h"

namespace plimsoll::bench {

Result<std::vector<std::vector<double>>> cpu_times(const std::vector<std::string>& builds,
                                                   const std::string& argument, int rounds) {
  std::vector<std::vector<double>> times(builds.size());
  std::mt19937 random(std::random_device{}());
  std::vector<size_t> order(builds.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (int round = 0; round <= rounds; ++round) {
    std::ranges::shuffle(order, random);
    for (const size_t build : order) {
      const auto usage = run_to_end({builds[build], argument});
      if (!usage) {
        return propagate(usage);
      }
      if (round > 0) {
        times[build].push_back(usage->cpu_s);
      }
    }
  }
  return times;
}

Interval percent_less(const std::vector<double>& base, const std::vector<double>& other) {
  std::vector<double> log_ratios;
  for (size_t i = 0; i < base.size(); ++i) {
    log_ratios.push_back(std::log(other[i] / base[i]));
  }
  const auto less = [](double log_ratio) { return 100 * (1 - std::exp(log_ratio)); };
  const Interval ratio = mean_interval(log_ratios);
  return {.center = less(ratio.center), .low = less(ratio.high), .high = less(ratio.low)};
}

double percent_of_gain(const std::vector<double>& base, const std::vector<double>& other,
                       const std::vector<double>& peer) {
  const double gain = median(base) - median(peer);
  return gain <= 0 ? 0 : 100 * (median(base) - median(other)) / gain;
}

}  // namespace plimsoll::bench
