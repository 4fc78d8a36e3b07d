#include "daemon/group_counts/group_totals.h"

#include <algorithm>

namespace plimsoll {
namespace {

// The nearest group above; the end where there is none.
TotalsByGroup::iterator nearest_above(const std::string& name, TotalsByGroup& groups) {
  for (size_t end = name.rfind('/'); end != 0 && end != std::string::npos; end = name.rfind('/', end - 1)) {
    if (const auto found = groups.find(name.substr(0, end)); found != groups.end()) {
      return found;
    }
  }
  return groups.end();
}

void take_off(const std::optional<ScaledCount>& below, std::optional<ScaledCount>& rest) {
  if (rest && below) {
    rest->value = std::max(0.0, rest->value - below->value);
  } else {
    rest.reset();
  }
}

}  // namespace

std::vector<bool> known_events(const TotalsByGroup& totals, size_t events) {
  std::vector<bool> is_known(events, totals.empty());
  for (const auto& [name, of_group] : totals) {
    for (size_t i = 0; i < events; ++i) {
      is_known[i] = is_known[i] || of_group[i].has_value();
    }
  }
  return is_known;
}

TotalsByGroup own_totals(const TotalsByGroup& totals) {
  TotalsByGroup own = totals;
  for (const auto& [name, of_group] : totals) {
    const auto above = nearest_above(name, own);
    for (size_t i = 0; i < of_group.size() && above != own.end(); ++i) {
      take_off(of_group[i], above->second[i]);
    }
  }
  return own;
}

}  // namespace plimsoll
