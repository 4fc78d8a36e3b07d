#include "query/rows/machine_windows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

namespace plimsoll::query {
namespace {

// Ascending; by number.
std::map<uint32_t, uint32_t> strata_of_machines(std::span<const SampledSide> sides,
                                                const MachineSample& sample) {
  std::map<uint32_t, uint32_t> strata;
  for (const SampledSide& side : sides) {
    for (size_t unit = 0; unit < sample.units(); ++unit) {
      if (side.whole[unit] > 0) {
        strata.try_emplace(sample.machine_of_unit()[unit], sample.part_of_unit()[unit]);
      }
    }
  }
  return strata;
}

MachineWindow window_of(const SampledSide& side, const MachineSample& sample,
                        const std::map<uint32_t, uint32_t>& strata, WindowRows window_rows) {
  constexpr uint32_t kNone = UINT32_MAX;
  const size_t parts = window_rows == WindowRows::kSelfAndTotal ? 2 : 1;
  MachineWindow window;
  window.columns = parts * side.rows.rows.size() + 1;
  std::vector<uint32_t> place_of_unit(sample.units(), kNone);
  std::map<uint32_t, std::vector<uint32_t>> units_of_machine;
  for (uint32_t unit = 0; unit < sample.units(); ++unit) {
    if (side.whole[unit] > 0) {
      units_of_machine[sample.machine_of_unit()[unit]].push_back(unit);
    }
  }
  for (const auto& [machine, units] : units_of_machine) {
    double size = 0;
    for (const uint32_t unit : units) {
      place_of_unit[unit] = static_cast<uint32_t>(window.machines.size());
      size += side.whole[unit];
    }
    window.machines.push_back(machine);
    window.strata.push_back(strata.at(machine));
    window.sizes.push_back(size);
  }
  window.values.resize(window.machines.size() * window.columns);
  for (size_t row = 0; row < side.rows.rows.size(); ++row) {
    for (const UnitValues& unit : side.rows.of(row)) {
      if (const uint32_t place = place_of_unit[unit.unit]; place != kNone) {
        double* const values = &window.values[place * window.columns + parts * row];
        values[0] += unit.value.self;
        if (window_rows == WindowRows::kSelfAndTotal) {
          values[1] += unit.value.total;
        }
      }
    }
  }
  for (size_t place = 0; place < window.machines.size(); ++place) {
    const std::span<double> profile =
        std::span(window.values).subspan(place * window.columns, window.columns);
    const double rows = std::accumulate(profile.begin(), profile.end(), 0.0);
    // Of sums in another order, which may differ in their last digits, a rest is not negative.
    profile.back() =
        window_rows == WindowRows::kSelf ? std::max(0.0, window.sizes[place] - rows) : window.sizes[place];
  }
  return window;
}

void join_one_sided_strata(std::array<MachineWindow, 2>& windows) {
  const auto has = [](const MachineWindow& window, uint32_t stratum) {
    return std::ranges::find(window.strata, stratum) != window.strata.end();
  };
  constexpr uint32_t kJoined = UINT32_MAX;
  std::map<uint32_t, uint32_t> joined;
  for (size_t side = 0; side < 2; ++side) {
    for (const uint32_t stratum : windows[side].strata) {
      if (!joined.contains(stratum)) {
        joined[stratum] = has(windows[1 - side], stratum) ? stratum : kJoined;
      }
    }
  }
  for (MachineWindow& window : windows) {
    for (uint32_t& stratum : window.strata) {
      stratum = joined.at(stratum);
    }
  }
}

}  // namespace

MachineWindow machine_window(const SampledSide& side, const MachineSample& sample, WindowRows window_rows) {
  return window_of(side, sample, strata_of_machines({&side, 1}, sample), window_rows);
}

std::array<MachineWindow, 2> machine_windows(const std::array<SampledSide, 2>& sides,
                                             const MachineSample& sample, WindowRows window_rows) {
  const std::map<uint32_t, uint32_t> strata = strata_of_machines(sides, sample);
  std::array<MachineWindow, 2> windows{window_of(sides[0], sample, strata, window_rows),
                                       window_of(sides[1], sample, strata, window_rows)};
  join_one_sided_strata(windows);
  return windows;
}

}  // namespace plimsoll::query
