#include "query/rows/row_estimates.h"

#include <algorithm>
#include <numeric>

#include "base/run_both.h"
#include "statistics/linearization.h"

namespace plimsoll::query {
namespace {

Domain domain_of(const MachineSample& sample, std::vector<uint32_t> sampling_units) {
  std::vector<statistics::SampledMachine> machines;
  for (const uint32_t unit : sampling_units) {
    machines.push_back(sample.machines()[unit]);
  }
  return {std::move(sampling_units), statistics::Design(machines)};
}

// Each once.
std::vector<uint32_t> ascending(std::vector<uint32_t> sampling_units) {
  std::ranges::sort(sampling_units);
  const auto repeated = std::ranges::unique(sampling_units);
  sampling_units.erase(repeated.begin(), repeated.end());
  return sampling_units;
}

void pick(const std::vector<double>& values, const std::vector<uint32_t>& sampling_units,
          std::vector<double>& picked) {
  picked.clear();
  for (const uint32_t unit : sampling_units) {
    picked.push_back(values[unit]);
  }
}

}  // namespace

Domain whole_domain(const MachineSample& sample) {
  std::vector<uint32_t> sampling_units(sample.sampling_units());
  std::iota(sampling_units.begin(), sampling_units.end(), 0);
  return domain_of(sample, std::move(sampling_units));
}

Domain domain_of_origins(const MachineSample& sample, const std::vector<bool>& origins) {
  std::vector<uint32_t> sampling_units;
  for (size_t origin = 0; origin < origins.size(); ++origin) {
    if (const uint32_t unit = sample.unit_of_origin()[origin];
        origins[origin] && unit != MachineSample::kNone) {
      sampling_units.push_back(unit);
    }
  }
  return domain_of(sample, ascending(std::move(sampling_units)));
}

std::vector<Domain> domains_of(const MachineSample& sample, std::span<const uint32_t> origin_group) {
  std::vector<Domain> domains;
  if (origin_group.empty()) {
    domains.push_back(whole_domain(sample));
    return domains;
  }
  std::vector<std::vector<uint32_t>> sampling_units(std::ranges::max(origin_group) + 1);
  for (size_t origin = 0; origin < origin_group.size(); ++origin) {
    if (const uint32_t unit = sample.unit_of_origin()[origin]; unit != MachineSample::kNone) {
      sampling_units[origin_group[origin]].push_back(unit);
    }
  }
  for (std::vector<uint32_t>& of_group : sampling_units) {
    domains.push_back(domain_of(sample, ascending(std::move(of_group))));
  }
  return domains;
}

void fill(const PerMachineRows& rows, size_t row, size_t event, double RowValues::* part,
          const Domain& domain, UnitColumn& column) {
  column.values.assign(domain.sampling_units.size(), 0);
  column.squares.assign(domain.sampling_units.size(), 0);
  // Both ascend.
  auto place = domain.sampling_units.begin();
  for (const UnitValues& unit : rows.of(row, event)) {
    place = std::lower_bound(place, domain.sampling_units.end(), unit.unit);
    if (place == domain.sampling_units.end()) {
      return;
    }
    if (*place == unit.unit) {
      const auto i = static_cast<size_t>(place - domain.sampling_units.begin());
      column.values[i] = unit.value.*part;
      column.squares[i] = unit.squares.*part;
    }
  }
}

void fill_whole(const PerMachineRows& rows, size_t event, const Domain& domain, UnitColumn& column) {
  pick(rows.whole[event], domain.sampling_units, column.values);
  pick(rows.whole_squares[event], domain.sampling_units, column.squares);
}

statistics::RowSums row_sums_of(const UnitColumn& numerator, const UnitColumn& denominator) {
  return {numerator.values, denominator.values, numerator.squares, denominator.squares};
}

std::vector<statistics::Estimate> estimate_shares(const PerMachineRows& rows,
                                                  std::span<double RowValues::* const> parts,
                                                  const Domain& domain) {
  UnitColumn whole;
  fill_whole(rows, 0, domain, whole);
  const size_t count = rows.rows.size() / rows.events * parts.size();
  std::vector<statistics::Estimate> estimates(count);
  const auto estimate = [&](size_t first, size_t last) {
    UnitColumn column;
    for (size_t i = first; i < last; ++i) {
      fill(rows, i / parts.size(), 0, parts[i % parts.size()], domain, column);
      estimates[i] = statistics::share(domain.design, row_sums_of(column, whole));
    }
  };
  run_both([&] { estimate(0, count / 2); }, [&] { estimate(count / 2, count); });
  return estimates;
}

statistics::Estimate estimate_ratio(const PerMachineRows& rows, size_t row, size_t numerator,
                                    size_t denominator, const Domain& domain) {
  UnitColumn over;
  UnitColumn under;
  fill(rows, row, numerator, &RowValues::self, domain, over);
  fill(rows, row, denominator, &RowValues::self, domain, under);
  return statistics::ratio(domain.design, row_sums_of(over, under));
}

}  // namespace plimsoll::query
