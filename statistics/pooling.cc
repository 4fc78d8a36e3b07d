#include "statistics/pooling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "statistics/robust.h"
#include "statistics/student_t.h"

namespace plimsoll::statistics {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments_of(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  // By differences from the first value: where all are 0.1, their own sum is off by its rounding, and they would vary.
  const double first = values.empty() ? 0 : values.front();
  double above = 0;
  for (const double value : values) {
    above += value - first;
  }
  const double mean = first + above / n;
  double sum = 0;
  for (const double value : values) {
    sum += (value - mean) * (value - mean);
  }
  return {.mean = mean, .variance = sum / n};
}

// With mean 0 and variance 1.
std::vector<double> standardized(std::span<const double> values, const Moments& moments) {
  std::vector<double> standard;
  standard.reserve(values.size());
  const double deviation = std::sqrt(moments.variance);
  for (const double value : values) {
    standard.push_back((value - moments.mean) / deviation);
  }
  return standard;
}

// Sums of products of block i of the first with block j of the second at each lag, which all permutations are sums of: blocks x
// blocks x lags numbers instead of the whole series for each permutation.
class BlockProducts {
 public:
  BlockProducts(std::span<const double> first, std::span<const double> second, size_t block, size_t max_lag)
      : blocks_(first.size() / block), lags_(2 * max_lag + 1), products_(blocks_ * blocks_ * lags_) {
    // The series is taken as a ring, so that each block has surroundings.
    const size_t n = blocks_ * block;
    std::vector<double> ring(n + 2 * max_lag);
    for (size_t i = 0; i < ring.size(); ++i) {
      ring[i] = second[(i + n - max_lag) % n];
    }
    for (size_t i = 0; i < blocks_; ++i) {
      for (size_t j = 0; j < blocks_; ++j) {
        for (size_t lag = 0; lag < lags_; ++lag) {
          const size_t shift = j * block + lag;
          double sum = 0;
          for (size_t step = 0; step < block; ++step) {
            sum += first[i * block + step] * ring[shift + step];
          }
          products_[(i * blocks_ + j) * lags_ + lag] = sum;
        }
      }
    }
  }

  size_t blocks() const { return blocks_; }

  // The correlation at each lag where block i of the first meets block order[i] of the second, times the number of steps.
  std::vector<double> sums(std::span<const size_t> order) const {
    std::vector<double> sums(lags_);
    for (size_t i = 0; i < blocks_; ++i) {
      const double* row = &products_[(i * blocks_ + order[i]) * lags_];
      for (size_t lag = 0; lag < lags_; ++lag) {
        sums[lag] += row[lag];
      }
    }
    return sums;
  }

 private:
  size_t blocks_;
  size_t lags_;
  std::vector<double> products_;
};

size_t place_of_largest(std::span<const double> sums) {
  const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
  return static_cast<size_t>(std::ranges::max_element(sums, smaller) - sums.begin());
}

// The chance of a correlation as large as the observed one at any lag.
double chance_of(const BlockProducts& products, double observed, const ShiftRequest& request) {
  std::vector<size_t> order(products.blocks());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937_64 random(request.seed);
  size_t as_large = 0;
  for (size_t i = 1; i <= request.permutations; ++i) {
    std::ranges::shuffle(order, random);
    const std::vector<double> sums = products.sums(order);
    as_large += std::abs(sums[place_of_largest(sums)]) >= observed ? 1 : 0;
    if (as_large == kShiftExceedances) {
      return static_cast<double>(as_large) / static_cast<double>(i);
    }
  }
  // What was observed is one of the permutations (Phipson and Smyth 2010).
  return static_cast<double>(as_large + 1) / static_cast<double>(request.permutations + 1);
}

constexpr double kTimesPerBlock =
    20;  // what the end of a block knows of the next is then 1 / 20 of its variance

size_t block_of(std::span<const double> first, std::span<const double> second, const ShiftRequest& request) {
  if (request.block > 0) {
    return request.block;
  }
  constexpr size_t kMaxBlocks = 64;  // their products grow with the square
  const double limit = max_autocorrelation_time(first.size());
  const double time = request.autocorrelation_time > 0
                          ? request.autocorrelation_time
                          : std::max(autocorrelation_time(first, limit), autocorrelation_time(second, limit));
  return std::max({static_cast<size_t>(std::ceil(kTimesPerBlock * time)),
                   4 * std::min(request.max_lag, first.size()), (first.size() + kMaxBlocks - 1) / kMaxBlocks,
                   size_t{1}});
}

// As quantile_of_sorted(), of values in any order; reorders.
double quantile_of(std::span<double> values, double share) {
  const double place = share * static_cast<double>(values.size() - 1);
  const auto at = values.begin() + static_cast<ptrdiff_t>(place);
  std::ranges::nth_element(values, at);
  const double above = at + 1 == values.end() ? *at : *std::min_element(at + 1, values.end());
  return *at + (place - std::floor(place)) * (above - *at);
}

// The sum of the services' values, each turned by its own number of steps.
std::vector<double> sum_of(std::span<const std::vector<double>> services, std::span<const size_t> turns) {
  const size_t steps = services.front().size();
  std::vector<double> sum(steps);
  for (size_t i = 0; i < services.size(); ++i) {
    const size_t before = steps - turns[i];  // steps until the series begins again
    for (size_t step = 0; step < before; ++step) {
      sum[step] += services[i][step + turns[i]];
    }
    for (size_t step = before; step < steps; ++step) {
      sum[step] += services[i][step - before];
    }
  }
  return sum;
}

void shift_need(std::span<const std::vector<double>> services, const PoolRequest& request, PooledNeed& need) {
  std::mt19937_64 random(request.seed);
  const size_t steps = services.front().size();
  std::vector<double> needs;
  std::vector<size_t> turns(services.size());
  for (size_t i = 0; i < request.shifts; ++i) {
    for (size_t& turn : turns) {
      turn = random() % steps;
    }
    std::vector<double> sum = sum_of(services, turns);
    needs.push_back(quantile_of(sum, request.share));
  }
  std::ranges::sort(needs);
  need.independent = quantile_of_sorted(needs, 0.5);
  need.independent_low = quantile_of_sorted(needs, 0.025);
  need.independent_high = quantile_of_sorted(needs, 0.975);
}

}  // namespace

double max_autocorrelation_time(size_t steps) {
  return static_cast<double>(steps) / (kTimesPerBlock * static_cast<double>(kMinShiftBlocks));
}

double autocorrelation_time(std::span<const double> values, double limit) {
  const Moments moments = values.empty() ? Moments{} : moments_of(values);
  if (moments.variance <= 0) {
    return 1;
  }
  const auto correlation = [&](size_t lag) {
    double sum = 0;
    for (size_t step = 0; step + lag < values.size(); ++step) {
      sum += (values[step] - moments.mean) * (values[step + lag] - moments.mean);
    }
    return sum / (moments.variance * static_cast<double>(values.size()));
  };
  double time = 1 + 2 * correlation(1);
  for (size_t lag = 2; lag + 1 < values.size() / 4 && time <= limit; lag += 2) {
    const double pair = correlation(lag) + correlation(lag + 1);
    if (pair <= 0) {
      break;
    }
    time += 2 * pair;
  }
  return std::max(time, 1.0);
}

Result<ShiftTest> test_shift(std::span<const double> first, std::span<const double> second,
                             const ShiftRequest& request) {
  if (first.size() != second.size() || request.permutations == 0) {
    return fail(ErrorCode::kInvalid, "two series of {} and {} steps cannot be compared", first.size(),
                second.size());
  }
  if (first.empty() || moments_of(first).variance <= 0 || moments_of(second).variance <= 0) {
    return fail(ErrorCode::kNotFound, "a series does not vary");
  }
  const size_t block = block_of(first, second, request);
  if (first.size() / block < kMinShiftBlocks) {
    return fail(ErrorCode::kNotFound, "{} steps are too few: at least {} blocks of {} steps are required",
                first.size(), kMinShiftBlocks, block);
  }
  // Each block has the lags' surroundings, of a ring of all blocks.
  if (request.max_lag > block) {
    return fail(ErrorCode::kInvalid, "lags of {} steps require blocks as long, not of {}", request.max_lag,
                block);
  }
  const size_t used = first.size() / block * block;
  const std::span<const double> x = first.first(used);
  const std::span<const double> y = second.first(used);
  const Moments of_x = moments_of(x);
  const Moments of_y = moments_of(y);
  if (of_x.variance <= 0 || of_y.variance <= 0) {
    return fail(ErrorCode::kNotFound, "a series does not vary");
  }
  const BlockProducts products(standardized(x, of_x), standardized(y, of_y), block, request.max_lag);
  std::vector<size_t> order(products.blocks());
  std::iota(order.begin(), order.end(), size_t{0});
  const std::vector<double> observed = products.sums(order);
  const size_t at = place_of_largest(observed);
  return ShiftTest{.lag = static_cast<ptrdiff_t>(at) - static_cast<ptrdiff_t>(request.max_lag),
                   .correlation = observed[at] / static_cast<double>(used),
                   .p = chance_of(products, std::abs(observed[at]), request),
                   .block = block,
                   .blocks = products.blocks()};
}

Result<PooledNeed> pool_need(std::span<const std::vector<double>> services, const PoolRequest& request) {
  const bool is_share = request.share > 0 && request.share < 1;  // false of no number, too
  if (services.empty() || services.front().empty() || !is_share) {
    return fail(ErrorCode::kInvalid, "pooling requires services with steps, and a share within 0 and 1");
  }
  PooledNeed need;
  double mean = 0;
  double variance = 0;
  for (const std::vector<double>& service : services) {
    if (service.size() != services.front().size()) {
      return fail(ErrorCode::kInvalid, "services have {} and {} steps", services.front().size(),
                  service.size());
    }
    const Moments moments = moments_of(service);
    mean += moments.mean;
    variance += moments.variance;
    std::vector<double> values = service;
    need.alone.push_back(quantile_of(values, request.share));
    need.separate += need.alone.back();
  }
  const double normal_quantile = student_t_quantile(request.share, std::numeric_limits<double>::infinity());
  need.normal = mean + normal_quantile * std::sqrt(variance);
  const std::vector<size_t> as_observed(services.size());
  std::vector<double> sum = sum_of(services, as_observed);
  need.pooled = quantile_of(sum, request.share);
  shift_need(services, request, need);
  return need;
}

}  // namespace plimsoll::statistics
