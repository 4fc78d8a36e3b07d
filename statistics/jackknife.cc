#include "statistics/jackknife.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace plimsoll::statistics {
namespace {

std::vector<std::vector<uint32_t>> machines_by_stratum(const Design& design) {
  std::vector<std::vector<uint32_t>> strata(design.strata());
  for (uint32_t machine = 0; machine < design.machines(); ++machine) {
    strata[design.stratum_of(machine)].push_back(machine);
  }
  return strata;
}

}  // namespace

Jackknife::Jackknife(const Design& design, uint64_t seed, size_t groups)
    : groups_(groups),
      degrees_(static_cast<double>(
          std::min(groups - 1, design.machines() - std::min(design.machines(), design.strata())))),
      cell_of_(design.machines()),
      dilutions_(design.strata() * groups, 1) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> order(groups);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::shuffle(order, random);
  const auto all_groups = static_cast<double>(groups);
  size_t next = 0;
  std::vector<std::vector<uint32_t>> strata = machines_by_stratum(design);
  for (size_t stratum = 0; stratum < strata.size(); ++stratum) {
    std::ranges::shuffle(strata[stratum], random);
    std::vector<size_t> sizes(groups);
    // Where one stratum stops the next goes on, so that small ones do not all fall into the same groups.
    for (const uint32_t machine : strata[stratum]) {
      const uint32_t group = order[next];
      next = (next + 1) % groups;
      ++sizes[group];
      cell_of_[machine] = static_cast<uint32_t>(stratum * groups + group);
    }
    const auto all = static_cast<double>(strata[stratum].size());
    for (size_t group = 0; group < groups; ++group) {
      if (sizes[group] < strata[stratum].size()) {
        dilutions_[stratum * groups + group] = all / (all - static_cast<double>(sizes[group]));
      }
    }
    const double few = all < all_groups ? (all - 1) / all * all_groups / (all_groups - 1) : 1;
    shrinkages_.push_back(std::sqrt(design.correction_of(stratum) * few));
  }
}

void Jackknife::replicate(std::span<const double> cell_sums, std::span<double> totals) const {
  std::ranges::fill(totals, std::accumulate(cell_sums.begin(), cell_sums.end(), 0.0));
  for (size_t stratum = 0; stratum < shrinkages_.size(); ++stratum) {
    const auto sums = cell_sums.subspan(stratum * groups_, groups_);
    const double whole = std::accumulate(sums.begin(), sums.end(), 0.0);
    for (size_t group = 0; group < groups_; ++group) {
      const double dilution = dilutions_[stratum * groups_ + group];
      if (dilution > 1) {
        totals[group] += shrinkages_[stratum] * ((whole - sums[group]) * dilution - whole);
      }
    }
  }
}

Spread Jackknife::spread(double value, std::span<const double> replicates) const {
  double squares = 0;
  for (const double replicate : replicates) {
    squares += (replicate - value) * (replicate - value);
  }
  const auto groups = static_cast<double>(groups_);
  return {.variance = squares * (groups - 1) / groups, .degrees = degrees_};
}

double Jackknife::bias(double value, std::span<const double> replicates) const {
  double sum = 0;
  for (const double replicate : replicates) {
    sum += replicate - value;
  }
  const auto groups = static_cast<double>(groups_);
  return sum * (groups - 1) / groups;
}

}  // namespace plimsoll::statistics
