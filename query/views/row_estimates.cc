#include "query/views/row_estimates.h"

#include <algorithm>
#include <numeric>

#include "query/statistics/linearization.h"

namespace plimsoll::query {
namespace {

Domain domain_of(const MachineSample& sample, std::vector<uint32_t> units) {
  std::vector<statistics::SampledMachine> machines;
  for (const uint32_t unit : units) {
    machines.push_back(sample.machines()[unit]);
  }
  return {std::move(units), statistics::Design(machines)};
}

std::vector<double> pick(const std::vector<double>& values, const std::vector<uint32_t>& units) {
  std::vector<double> picked;
  picked.reserve(units.size());
  for (const uint32_t unit : units) {
    picked.push_back(values[unit]);
  }
  return picked;
}

}  // namespace

Domain whole_domain(const MachineSample& sample) {
  std::vector<uint32_t> units(sample.units());
  std::iota(units.begin(), units.end(), 0);
  return domain_of(sample, std::move(units));
}

std::vector<Domain> domains_of(const MachineSample& sample, const std::vector<uint32_t>& origin_group) {
  std::vector<Domain> domains;
  if (origin_group.empty()) {
    domains.push_back(whole_domain(sample));
    return domains;
  }
  std::vector<std::vector<uint32_t>> units(std::ranges::max(origin_group) + 1);
  for (size_t origin = 0; origin < origin_group.size(); ++origin) {
    if (const uint32_t unit = sample.unit_of_origin()[origin]; unit != MachineSample::kNone) {
      units[origin_group[origin]].push_back(unit);
    }
  }
  for (std::vector<uint32_t>& of_group : units) {
    std::ranges::sort(of_group);
    const auto repeated = std::ranges::unique(of_group);
    of_group.erase(repeated.begin(), repeated.end());
    domains.push_back(domain_of(sample, std::move(of_group)));
  }
  return domains;
}

void RowEstimates::fill(Column& column, size_t row, size_t event, double RowValues::* part,
                        const Domain& domain) const {
  column.values.assign(domain.units.size(), 0);
  column.samples.assign(domain.units.size(), 0);
  // Both ascend.
  auto place = domain.units.begin();
  for (const UnitValues& unit : rows_.of(row, event)) {
    place = std::lower_bound(place, domain.units.end(), unit.unit);
    if (place == domain.units.end()) {
      return;
    }
    if (*place == unit.unit) {
      const auto i = static_cast<size_t>(place - domain.units.begin());
      column.values[i] = unit.value.*part;
      column.samples[i] = unit.samples.*part;
    }
  }
}

statistics::Estimate RowEstimates::share(size_t row, double RowValues::* part, const Domain& domain) {
  fill(numerator_, row, 0, part, domain);
  denominator_ = {pick(rows_.whole[0], domain.units), pick(rows_.whole_samples[0], domain.units)};
  return statistics::share(
      domain.design, {numerator_.values, denominator_.values, numerator_.samples, denominator_.samples});
}

statistics::Estimate RowEstimates::ratio(size_t row, size_t numerator, size_t denominator,
                                         const Domain& domain) {
  fill(numerator_, row, numerator, &RowValues::self, domain);
  fill(denominator_, row, denominator, &RowValues::self, domain);
  return statistics::ratio(
      domain.design, {numerator_.values, denominator_.values, numerator_.samples, denominator_.samples});
}

}  // namespace plimsoll::query
