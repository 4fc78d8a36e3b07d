#include "tests/simulation/measuring_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

namespace plimsoll::simulation {

void MeasuringWatch::add_to_fleet(const Members& members) {
  for (const auto& [kind, membership] : members) {
    fleet_[kind] += membership.count;
  }
}

void MeasuringWatch::measured(int64_t from_ns, int64_t to_ns, const Members& members) {
  changes_.push_back({from_ns, 1, &members});
  changes_.push_back({to_ns, -1, &members});
}

std::vector<std::string> MeasuringWatch::violations() const {
  std::vector<Change> changes = changes_;
  std::ranges::sort(changes, {}, [](const Change& change) { return std::tuple(change.at_ns, change.sign); });
  struct Now {
    int members = 0;
    int machines = 0;
  };
  std::map<std::string, Now> measured;
  std::vector<std::string> violations;
  for (const Change& change : changes) {
    for (const auto& [kind, membership] : *change.members) {
      Now& now = measured[kind];
      now.members += change.sign * membership.count;
      now.machines += change.sign;
      if (now.machines > 1 && now.members > membership.share * fleet_.at(kind)) {
        violations.push_back(fmt::format("{}: {} of {} at {} s", kind, now.members, fleet_.at(kind),
                                         change.at_ns / 1'000'000'000));
      }
    }
  }
  return violations;
}

}  // namespace plimsoll::simulation
