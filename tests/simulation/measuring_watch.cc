#include "tests/simulation/measuring_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace plimsoll::simulation {

void MeasuringWatch::add_to_fleet(const Members& members) {
  for (const auto& [kind, count] : members) {
    fleet_[kind] += count;
  }
}

void MeasuringWatch::measured(int64_t from_ns, int64_t to_ns, const Members& members) {
  changes_.push_back({from_ns, 1, &members});
  changes_.push_back({to_ns, -1, &members});
}

// Calls look(kind, members measured, machines measuring, at_ns) after each change.
template <typename Visit>
void MeasuringWatch::visit(Visit look) const {
  std::vector<Change> changes = changes_;
  std::ranges::sort(changes, {}, [](const Change& change) { return std::tuple(change.at_ns, change.sign); });
  std::map<std::string, std::pair<int, int>> now;
  for (const Change& change : changes) {
    for (const auto& [kind, count] : *change.members) {
      auto& [members, machines] = now[kind];
      members += change.sign * count;
      machines += change.sign;
      look(kind, members, machines, change.at_ns);
    }
  }
}

std::vector<std::string> MeasuringWatch::violations() const {
  std::vector<std::string> violations;
  visit([&](const std::string& kind, int members, int machines, int64_t at_ns) {
    if (machines > 1 && members > share_ * fleet_.at(kind)) {
      violations.push_back(
          fmt::format("{}: {} of {} at {} s", kind, members, fleet_.at(kind), at_ns / 1'000'000'000));
    }
  });
  return violations;
}

std::map<std::string, int> MeasuringWatch::most_at_once() const {
  std::map<std::string, int> most;
  visit([&](const std::string& kind, int members, int /*machines*/, int64_t /*at_ns*/) {
    most[kind] = std::max(most[kind], members);
  });
  return most;
}

}  // namespace plimsoll::simulation
