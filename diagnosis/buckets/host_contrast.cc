#include "diagnosis/buckets/host_contrast.h"

#include <algorithm>
#include <cmath>

#include "statistics/robust.h"

namespace plimsoll::diagnosis {
namespace {

// d: hosts that the variance of all requests counts for in that of one bucket.
constexpr double kPriorHosts = 4;
constexpr double kMinRatio = 1;
constexpr double kMaxRatio = 1000;
constexpr double kMinVariance = 1e-12;

double variance_of(const SideSums& side, const HostVariance& all) {
  const double spread = std::max(0.0, side.squared - side.weighted * side.weighted / side.weight);
  return (spread + kPriorHosts * all.between) / (side.hosts - 1 + kPriorHosts);
}

void add(const HostMean& mean, SideSums& sums) {
  sums.hosts += 1;
  sums.weight += static_cast<double>(mean.weight);
  sums.weighted += static_cast<double>(mean.weighted);
  sums.squared += static_cast<double>(mean.squared);
  sums.paired += mean.is_pair ? static_cast<double>(mean.weight) : 0;
}

// Sums of so many in single precision are exact enough.
constexpr size_t kHostsInFloat = 512;
using Lanes = std::array<float, kLanes>;
constexpr auto kFlags = [] {
  std::array<Lanes, 1U << kLanes> flags{};
  for (size_t bits = 0; bits < flags.size(); ++bits) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      flags[bits][lane] = static_cast<float>(bits >> lane & 1U);
    }
  }
  return flags;
}();

// Half a difference of two means scatters as the mean of so many requests.
double requests_of_pair(double base, double of_new) {
  return 4 * base * of_new / (base + of_new);
}

}  // namespace

HostVariance host_variance(const ComparedRequests& requests, std::span<const float> score) {
  struct Cell {
    double count = 0;
    double sum = 0;
    double squares = 0;
  };
  std::vector<Cell> cells(2 * requests.hosts);
  for (size_t i = 0; i < requests.size(); ++i) {
    Cell& cell = cells[2 * requests.host[i] + requests.is_new[i]];
    const auto value = static_cast<double>(score[i]);
    cell.count += 1;
    cell.sum += value;
    cell.squares += value * value;
  }
  double within = 0;
  double inverse_counts = 0;
  std::array<std::vector<double>, 2> means;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    if (cell.count == 0) {
      continue;
    }
    within += cell.squares - cell.sum * cell.sum / cell.count;
    const Cell& other = cells[i ^ 1U];
    const double mean = cell.sum / cell.count;
    const bool is_pair = other.count > 0;
    inverse_counts += 1 / (is_pair ? requests_of_pair(cell.count, other.count) : cell.count);
    means[i % 2].push_back(is_pair ? (mean - other.sum / other.count) / 2 : mean);
  }
  const auto used = static_cast<double>(means[0].size() + means[1].size());
  const auto count = static_cast<double>(requests.size());
  if (used < 3 || count <= used) {
    return {};
  }
  std::vector<double> deviations;
  for (const std::vector<double>& side : means) {
    std::vector<double> sorted = side;
    const double middle = statistics::median_of(sorted);
    for (const double mean : side) {
      deviations.push_back(mean - middle);
    }
  }
  const double deviation = statistics::robust_deviation(deviations);
  const double within_variance = std::max(within / (count - used), kMinVariance);
  const double between =
      std::max(deviation * deviation - within_variance * inverse_counts / used, within_variance / kMaxRatio);
  return {.between = between, .ratio = std::max(within_variance / between, kMinRatio)};
}

void add_host(uint32_t host, uint8_t sides, const std::array<CellSum, 2>& cells, const HostVariance& variance,
              std::vector<HostMean>& means) {
  const auto [base, of_new] = cells;
  const bool is_pair = base.requests > 0 && of_new.requests > 0;
  const auto add = [&](size_t side, double requests, double mean) {
    const double weight = requests / (requests + variance.ratio);
    means.push_back({.cell = 2 * host + static_cast<uint32_t>(side),
                     .weight = static_cast<float>(weight),
                     .weighted = static_cast<float>(weight * mean),
                     .squared = static_cast<float>(weight * mean * mean),
                     .is_pair = is_pair});
  };
  if (is_pair) {
    const double requests = requests_of_pair(base.requests, of_new.requests);
    const double half = (of_new.sum / of_new.requests - base.sum / base.requests) / 2;
    add(0, requests, -half);
    add(1, requests, half);
  } else if (sides != kRanBoth && base.requests + of_new.requests > 0) {
    const size_t side = of_new.requests > 0 ? 1 : 0;
    add(side, cells[side].requests, cells[side].sum / cells[side].requests);
  }
}

std::array<SideSums, 2> side_sums(std::span<const HostMean> means) {
  std::array<SideSums, 2> sides;
  for (const HostMean& mean : means) {
    add(mean, sides[mean.cell % 2]);
  }
  return sides;
}

Contrast contrast(const SideSums& of_new, const SideSums& base, const HostVariance& variance,
                  double min_hosts) {
  if (of_new.hosts < min_hosts || base.hosts < min_hosts) {
    return {};
  }
  const double difference = of_new.weighted / of_new.weight - base.weighted / base.weight;
  const double variance_new = variance_of(of_new, variance);
  const double variance_base = variance_of(base, variance);
  // A pair of weight w moves both means, by d / 2 and by -d / 2: its part of the variance of their difference is
  // w^2 (V / w) (1 / W_new + 1 / W_base)^2. Two independent hosts would lack the product, 2 w V / (W_new W_base).
  const double shared = of_new.paired / (of_new.weight * base.weight);
  const double error =
      variance_new / of_new.weight + variance_base / base.weight + (variance_new + variance_base) * shared;
  const double scale = 1 / of_new.weight + 1 / base.weight + 2 * shared;
  return {.difference = difference,
          .t = difference / std::sqrt(error),
          .fit = difference / std::sqrt(variance.between * scale),
          .error = std::sqrt(error)};
}

void raise_max_t(std::span<const HostMean> means, std::span<const LaneBits> is_new,
                 const HostVariance& variance, double min_hosts, std::span<double, kLanes> max_t) {
  std::array<SideSums, kLanes> of_new{};
  SideSums all;
  for (size_t begin = 0; begin < means.size(); begin += kHostsInFloat) {
    Lanes hosts{}, weight{}, weighted{}, squared{};
    for (const HostMean& mean : means.subspan(begin, std::min(kHostsInFloat, means.size() - begin))) {
      const Lanes& flags = kFlags[is_new[mean.cell]];
      for (size_t lane = 0; lane < kLanes; ++lane) {
        hosts[lane] += flags[lane];
        weight[lane] += flags[lane] * mean.weight;
        weighted[lane] += flags[lane] * mean.weighted;
        squared[lane] += flags[lane] * mean.squared;
      }
      add(mean, all);
    }
    for (size_t lane = 0; lane < kLanes; ++lane) {
      of_new[lane].hosts += static_cast<double>(hosts[lane]);
      of_new[lane].weight += static_cast<double>(weight[lane]);
      of_new[lane].weighted += static_cast<double>(weighted[lane]);
      of_new[lane].squared += static_cast<double>(squared[lane]);
    }
  }
  // Swapped or not, a pair has a mean on either side.
  const double paired = all.paired / 2;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    SideSums& side = of_new[lane];
    side.paired = paired;
    const SideSums base{.hosts = all.hosts - side.hosts,
                        .weight = all.weight - side.weight,
                        .weighted = all.weighted - side.weighted,
                        .squared = all.squared - side.squared,
                        .paired = paired};
    max_t[lane] = std::max(max_t[lane], contrast(side, base, variance, min_hosts).t);
  }
}

}  // namespace plimsoll::diagnosis
