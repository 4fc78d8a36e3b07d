#include "query/rows/machine_windows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

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

MachineWindow machine_window(const SampledSide& side, const MachineSample& sample) {
  MachineWindow window;
  window.columns = side.rows.columns;
  for (uint32_t machine = 0; machine < side.whole.size(); ++machine) {
    if (side.whole[machine] > 0) {
      window.machines.push_back(machine);
      window.strata.push_back(sample.part_of_machine()[machine]);
      window.sizes.push_back(side.whole[machine]);
    }
  }
  window.values.reserve(window.machines.size() * window.columns);
  for (size_t place = 0; place < window.machines.size(); ++place) {
    const auto profile =
        std::span(side.rows.values).subspan(window.machines[place] * window.columns, window.columns);
    window.values.insert(window.values.end(), profile.begin(), profile.end());
    const double rows = std::accumulate(profile.begin(), profile.end(), 0.0);
    // Of sums in another order, which may differ in their last digits, a rest is not negative.
    window.values.back() =
        side.rows.has_totals ? window.sizes[place] : std::max(0.0, window.sizes[place] - rows);
  }
  return window;
}

std::array<MachineWindow, 2> machine_windows(const std::array<SampledSide, 2>& sides,
                                             const MachineSample& sample) {
  std::array<MachineWindow, 2> windows{machine_window(sides[0], sample), machine_window(sides[1], sample)};
  join_one_sided_strata(windows);
  return windows;
}

}  // namespace plimsoll::query
