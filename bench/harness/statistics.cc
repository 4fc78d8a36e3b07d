#include "bench/harness/statistics.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <limits>
#include <numeric>

#include "statistics/mean_interval.h"
#include "statistics/student_t.h"

namespace plimsoll::bench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNormalQuantile = 1.959963984540054;  // of 0.975

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) {
    return 0;
  }
  const auto place = values.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, place);
  return *place;
}

Interval mean_interval(std::span<const double> values) {
  const statistics::MeanInterval interval = statistics::mean_interval(values);
  return {interval.mean, interval.low, interval.high};
}

Interval hodges_lehmann_interval(std::span<const double> values) {
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i; j < values.size(); ++j) {
      means.push_back((values[i] + values[j]) / 2);
    }
  }
  std::ranges::sort(means);
  const auto count = static_cast<double>(values.size());
  const double deviation = std::sqrt(count * (count + 1) * (2 * count + 1) / 24);
  // The largest k with P(T < k) at most 2.5 %; half is the continuity correction.
  const double rank = std::floor(static_cast<double>(means.size()) / 2 + 0.5 - kNormalQuantile * deviation);
  const double center = median(means);
  if (rank < 1) {
    return {center, -kInfinity, kInfinity};
  }
  const auto from_end = static_cast<size_t>(rank);
  return {center, means[from_end - 1], means[means.size() - from_end]};
}

Interval ratio_interval(std::span<const double> x, std::span<const double> y) {
  const size_t pairs = x.size();
  if (pairs < 2 || y.size() != pairs) {
    return {0, -kInfinity, kInfinity};
  }
  const auto count = static_cast<double>(pairs);
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (size_t i = 0; i < pairs; ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  // (mean x - r mean y)^2 <= t^2 (xx - 2 r xy + r^2 yy) / (n (n - 1)): a quadratic inequality in r.
  const double t = statistics::student_t_quantile(0.975, count - 1);
  const double factor = t * t / (count * (count - 1));
  const double a = mean_y * mean_y - factor * yy;
  const double b = mean_x * mean_y - factor * xy;
  const double c = mean_x * mean_x - factor * xx;
  const double center = mean_y > 0 ? mean_x / mean_y : 0;
  if (a <= 0) {
    return {center, -kInfinity, kInfinity};
  }
  const double half_width = std::sqrt(std::max(0.0, b * b - a * c)) / a;
  return {center, b / a - half_width, b / a + half_width};
}

Line line_through(const Point& first, const Point& second) {
  if (first.x == second.x) {
    return {.start = first.y};
  }
  const double slope = (second.y - first.y) / (second.x - first.x);
  return {.start = first.y - slope * first.x, .slope = slope};
}

std::vector<double> interleaved_medians(int rounds, std::span<const std::function<double()>> contenders) {
  std::vector<std::vector<double>> values(contenders.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      values[i].push_back(contenders[i]());
    }
  }
  std::vector<double> medians;
  medians.reserve(values.size());
  for (auto& of_one : values) {
    medians.push_back(median(std::move(of_one)));
  }
  return medians;
}

void keep(uint64_t result) {
  static std::atomic<uint64_t> kept = 0;
  kept.store(result, std::memory_order_relaxed);
}

int64_t thread_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace plimsoll::bench
