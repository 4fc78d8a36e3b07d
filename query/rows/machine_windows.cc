#include "query/rows/machine_windows.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>
#include <utility>

namespace plimsoll::query {
namespace {

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

MachineWindow machine_window(SampledSide side, const MachineSample& sample) {
  const std::span<const double> whole =
      side.whole.empty() ? std::span(std::as_const(side.rows.whole)) : side.whole;
  MachineWindow window;
  window.columns = side.rows.columns;
  window.values = std::move(side.rows.values);
  for (uint32_t machine = 0; machine < whole.size(); ++machine) {
    if (whole[machine] <= 0) {
      continue;
    }
    // Places are never behind the machines that are moved to them.
    const auto profile = window.values.begin() + static_cast<std::ptrdiff_t>(machine * window.columns);
    const auto place =
        window.values.begin() + static_cast<std::ptrdiff_t>(window.machines.size() * window.columns);
    const auto end = profile == place ? profile + static_cast<std::ptrdiff_t>(window.columns)
                                      : std::copy_n(profile, window.columns, place);
    const double rows = std::accumulate(place, end, 0.0);
    // Of sums in another order, which may differ in their last digits, a rest is not negative.
    *(end - 1) = side.rows.has_totals ? whole[machine] : std::max(0.0, whole[machine] - rows);
    window.machines.push_back(machine);
    window.strata.push_back(sample.part_of_machine()[machine]);
    window.sizes.push_back(whole[machine]);
  }
  window.values.resize(window.machines.size() * window.columns);
  return window;
}

std::array<MachineWindow, 2> machine_windows(std::array<SampledSide, 2> sides, const MachineSample& sample) {
  std::array<MachineWindow, 2> windows{machine_window(std::move(sides[0]), sample),
                                       machine_window(std::move(sides[1]), sample)};
  join_one_sided_strata(windows);
  return windows;
}

}  // namespace plimsoll::query
