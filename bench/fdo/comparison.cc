#include "bench/fdo/comparison.h"

#include <fmt/format.h>

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

Interval percent_of_gain(const std::vector<double>& base, const std::vector<double>& other,
                         const std::vector<double>& peer) {
  std::vector<double> saved;
  std::vector<double> saved_by_peer;
  for (size_t i = 0; i < base.size(); ++i) {
    saved.push_back(100 * (1 - other[i] / base[i]));
    saved_by_peer.push_back(1 - peer[i] / base[i]);
  }
  return ratio_interval(saved, saved_by_peer);
}

std::string interval_text(const Interval& interval) {
  return std::isinf(interval.low) ? "95 %: unbounded, the peer is not known to gain"
                                  : fmt::format("95 %: {:.1f} to {:.1f}", interval.low, interval.high);
}

}  // namespace plimsoll::bench
