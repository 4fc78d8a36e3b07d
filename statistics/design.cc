#include "statistics/design.h"

#include <algorithm>
#include <limits>

#include "statistics/collapse.h"

namespace plimsoll::statistics {

Spread plus_counts(const Spread& between, double within_variance) {
  const double variance = between.variance + within_variance;
  if (between.variance <= 0) {
    return {variance, std::numeric_limits<double>::infinity()};
  }
  const double whole = variance / between.variance;
  return {variance, std::max(1.0, between.degrees) * whole * whole};
}

Design::Design(std::span<const SampledMachine> machines, Selection selection) : selection_(selection) {
  number_strata(machines);
  std::vector<std::vector<uint32_t>> members(strata_.size());
  for (uint32_t i = 0; i < machines_.size(); ++i) {
    members[machines_[i].stratum].push_back(i);
  }
  for (size_t stratum = 0; stratum < strata_.size(); ++stratum) {
    weigh(stratum, members[stratum]);
  }
}

void Design::number_strata(std::span<const SampledMachine> machines) {
  std::vector<size_t> counts;
  for (const SampledMachine& machine : machines) {
    counts.resize(std::max<size_t>(counts.size(), machine.stratum + 1));
    ++counts[machine.stratum];
  }
  // Machines that are drawn independently of each other need no second one to compare with.
  std::vector<uint32_t> numbers =
      selection_ == Selection::kIndependent ? std::vector<uint32_t>(counts.size(), 0) : collapse(counts);
  strata_.resize(machines.empty() ? 0 : std::ranges::max(numbers) + 1);
  for (size_t stratum = 0; stratum < counts.size(); ++stratum) {
    Stratum& joined = strata_[numbers[stratum]];
    joined.is_joined |= counts[stratum] > 0 && joined.machines > 0;
    joined.machines += counts[stratum];
  }
  for (const SampledMachine& machine : machines) {
    machines_.push_back({.stratum = numbers[machine.stratum],
                         .probability = machine.inclusion_probability.value_or(0),
                         .factor = 1 - machine.inclusion_probability.value_or(0)});
  }
}

void Design::weigh(size_t stratum, std::span<const uint32_t> members) {
  double not_drawn = 0;
  for (const uint32_t i : members) {
    not_drawn += 1 - machines_[i].probability;
  }
  const auto count = static_cast<double>(members.size());
  strata_[stratum].correction = not_drawn / count;
  if (selection_ == Selection::kIndependent || members.size() < 2) {
    return;
  }
  if (strata_[stratum].is_joined) {
    weigh_joined(members);
    return;
  }
  for (const uint32_t i : members) {
    Machine& machine = machines_[i];
    machine.scale = 1;
    machine.pull = not_drawn > 0 ? machine.factor / not_drawn : 0;
    machine.factor *= count / (count - 1);
  }
}

// Strata that were drawn from at different rates have different weights: a machine is expected to have the mean of what the
// machines have before they are weighted.
void Design::weigh_joined(std::span<const uint32_t> members) {
  double sum = 0;
  double sum_of_squares = 0;
  for (const uint32_t i : members) {
    Machine& machine = machines_[i];
    machine.scale = machine.probability > 0 ? 1 / machine.probability : 1;
    sum += machine.scale;
    sum_of_squares += machine.scale * machine.scale;
  }
  for (const uint32_t i : members) {
    Machine& machine = machines_[i];
    machine.pull = 1 / sum;
    machine.factor /= 1 - 2 * machine.scale / sum + sum_of_squares / (sum * sum);
  }
}

double Design::correction_of(size_t stratum) const {
  return strata_[stratum].correction;
}

bool Design::is_census() const {
  return std::ranges::all_of(machines_, [](const Machine& machine) { return machine.probability == 1; });
}

Spread Design::spread(std::span<const double> values) const {
  std::vector<double> centers(strata_.size());
  for (size_t i = 0; i < machines_.size(); ++i) {
    centers[machines_[i].stratum] += machines_[i].pull * values[i];
  }
  std::vector<double> variances(strata_.size());
  std::vector<double> squares(strata_.size());
  for (size_t i = 0; i < machines_.size(); ++i) {
    const Machine& machine = machines_[i];
    const double deviation = values[i] - machine.scale * centers[machine.stratum];
    const double part = machine.factor * deviation * deviation;
    variances[machine.stratum] += part;
    squares[machine.stratum] += part * part;
  }
  Spread spread;
  double variance_of_variance = 0;
  for (size_t stratum = 0; stratum < strata_.size(); ++stratum) {
    const double variance = variances[stratum];
    const auto machines = static_cast<double>(strata_[stratum].machines);
    spread.variance += variance;
    variance_of_variance +=
        std::max(squares[stratum] - variance * variance / machines, 2 * variance * variance / (machines + 1));
  }
  const size_t lost = selection_ == Selection::kIndependent ? 1 : strata_.size();
  const auto most = static_cast<double>(machines_.size() - std::min(machines_.size(), lost));
  spread.degrees = variance_of_variance > 0
                       ? std::min(most, 2 * spread.variance * spread.variance / variance_of_variance)
                       : most;
  return spread;
}

}  // namespace plimsoll::statistics
