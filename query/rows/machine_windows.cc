#include "query/rows/machine_windows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

namespace plimsoll::query {
namespace {

MachineWindow window_of(const SampledSide& side, const MachineSample& sample, WindowRows window_rows) {
  constexpr uint32_t kNone = UINT32_MAX;
  const size_t parts = window_rows == WindowRows::kSelfAndTotal ? 2 : 1;
  MachineWindow window;
  window.columns = parts * side.rows.rows.size() + 1;
  std::vector<uint32_t> place_of_machine(side.whole.size(), kNone);
  for (uint32_t machine = 0; machine < side.whole.size(); ++machine) {
    if (side.whole[machine] > 0) {
      place_of_machine[machine] = static_cast<uint32_t>(window.machines.size());
      window.machines.push_back(machine);
      window.strata.push_back(sample.part_of_machine()[machine]);
      window.sizes.push_back(side.whole[machine]);
    }
  }
  window.values.resize(window.machines.size() * window.columns);
  for (size_t row = 0; row < side.rows.rows.size(); ++row) {
    for (const UnitValues& unit : side.rows.of(row)) {
      if (const uint32_t place = place_of_machine[unit.unit]; place != kNone) {
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
  return window_of(side, sample, window_rows);
}

std::array<MachineWindow, 2> machine_windows(const std::array<SampledSide, 2>& sides,
                                             const MachineSample& sample, WindowRows window_rows) {
  std::array<MachineWindow, 2> windows{window_of(sides[0], sample, window_rows),
                                       window_of(sides[1], sample, window_rows)};
  join_one_sided_strata(windows);
  return windows;
}

}  // namespace plimsoll::query
